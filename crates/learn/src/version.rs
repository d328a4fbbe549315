//! The version number in a model's stored form.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Version `N` of a model's stored form: a plain number in the file, no memory in the model. Any
/// other number in the file is an error. Whoever reads the file says what to do about it: models
/// are trained again, measured files measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version<const N: u32>;

impl<const N: u32> Serialize for Version<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(N)
    }
}

impl<'de, const N: u32> Deserialize<'de> for Version<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            found if found == N => Ok(Self),
            found => Err(serde::de::Error::custom(format!(
                "version {found}, where this program reads version {N}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_number_is_read() {
        assert_eq!(serde_json::to_string(&Version::<3>).unwrap(), "3");
        assert_eq!(serde_json::from_str::<Version<3>>("3").unwrap(), Version);
        let error = serde_json::from_str::<Version<3>>("4").unwrap_err().to_string();
        assert!(error.contains("version 4") && error.contains("version 3"), "{error}");
    }
}
