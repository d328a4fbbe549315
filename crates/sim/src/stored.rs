//! How values are stored in snapshots that serde does not store by itself, and how a part of the
//! drive comes back.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A part of the drive that stores itself. All its fields are stored but those marked `skip`, which
/// follow from the configuration.
pub(crate) trait Part: Serialize + DeserializeOwned {
    /// Takes over what follows from the configuration, from a part that was made anew.
    fn adopt(&mut self, made: Self);
}

/// Stores arrays of any length as lists.
pub(crate) mod array {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer, T: Serialize, const N: usize>(
        array: &[T; N],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(array)
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>, const N: usize>(
        from: D,
    ) -> Result<[T; N], D::Error> {
        let values = Vec::<T>::deserialize(from)?;
        values.try_into().map_err(|_| D::Error::custom("an array of another length"))
    }
}

/// Stores histograms in their own format.
pub(crate) mod histogram {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer as Reader, Serializer as _, V2Serializer};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

    pub fn serialize<S: Serializer>(from: &Histogram<u64>, to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(from, &mut bytes).map_err(ser::Error::custom)?;
        bytes.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
        let bytes = Vec::<u8>::deserialize(from)?;
        Reader::new().deserialize(&mut bytes.as_slice()).map_err(de::Error::custom)
    }
}
