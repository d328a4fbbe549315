//! The files in `configs/devices/`, built into the library. [`crate::presets`] is the door to them;
//! the reader of files needs them too, for `base = "…"`.

macro_rules! shipped {
    ($($name:literal)+) => {
        const SHIPPED: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../configs/devices/", $name, ".toml"))),)+
        ];
    };
}

shipped! {
    "intel-750" "samsung-850-pro" "z-ssd" "ssdkeeper" "haml" "lpm-znand" "lpm-nand" "mqsim-default"
    "intel-750-400gb" "samsung-980-pro-1tb" "wd-zn540-1tb" "samsung-pm981a-256gb"
    "intel-s4610-480gb" "samsung-860-pro-512gb" "samsung-pm883-480gb"
    "intel-p4610-1600gb" "micron-7450-max-800gb" "samsung-pm9a3-960gb" "solidigm-p5520-1920gb"
}

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// The text of a preset's file; `None` if there is no preset of that name.
pub fn text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// Whether the text of a preset names a base. The table of a calibrated drive names one, too, which
/// is another matter.
pub(crate) fn has_base(text: &str) -> bool {
    text.split("\n[").next().is_some_and(|head| head.contains("\nbase"))
}
