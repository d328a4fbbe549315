//! How much a test does: little in an ordinary run, more with `SSDTUNE_LONG=1` in the environment.

/// `short`, or `long` if the environment asks for long tests.
pub fn long_or<T>(short: T, long: T) -> T {
    if std::env::var_os("SSDTUNE_LONG").is_some_and(|value| value == "1") { long } else { short }
}
