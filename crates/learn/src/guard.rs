//! Two things that all learners do alike, as macros: parameters are checked once, as in linfa, and
//! models are checked when they are read.

/// Implements linfa's `ParamGuard` for `$params`, a builder around `$valid`: the builder's check is
/// `$valid::verify`.
macro_rules! guarded_params {
    ($params:ident, $valid:ident, $error:ty) => {
        impl linfa::ParamGuard for $params {
            type Checked = $valid;
            type Error = $error;

            fn check_ref(&self) -> Result<&$valid, $error> {
                self.0.verify()?;
                Ok(&self.0)
            }

            fn check(self) -> Result<$valid, $error> {
                self.0.verify()?;
                Ok(self.0)
            }
        }
    };
}

/// Implements serde's traits for `$model`, which derives them with `#[serde(remote = "Self")]`. A
/// model that is read has to pass `$model::verify`; then `$complete`, if given, computes the fields
/// that are not stored.
macro_rules! checked_model {
    ($model:ident) => {
        checked_model!($model, std::convert::identity);
    };
    ($model:ident, $complete:expr) => {
        impl serde::Serialize for $model {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $model::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $model {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let model = $model::deserialize(deserializer)?;
                model.verify().map_err(serde::de::Error::custom)?;
                let complete: fn(Self) -> Self = $complete;
                Ok(complete(model))
            }
        }
    };
}

pub(crate) use {checked_model, guarded_params};
