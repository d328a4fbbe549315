//! Two shapes every learner shares, as macros: linfa's checked parameters, and models checked when
//! read.

/// `$params` is a builder around `$valid`; `$valid::verify` decides whether it may fit.
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

/// `$model` derives serde's traits with `#[serde(remote = "Self")]`; what is read passes
/// `$model::verify`.
macro_rules! checked_model {
    ($model:ident) => {
        impl serde::Serialize for $model {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $model::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $model {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let model = $model::deserialize(deserializer)?;
                model.verify().map_err(serde::de::Error::custom)?;
                Ok(model)
            }
        }
    };
}

pub(crate) use {checked_model, guarded_params};
