//! What this machine offers.

use std::path::Path;

use crate::plan::Backend;
pub use crate::report::Offer;
use crate::tree::{Failed, Launcher};

/// Returns what this machine offers, the strongest first.
pub fn all(launcher: &Launcher) -> Vec<Offer> {
    Backend::ALL.into_iter().map(|backend| probe(backend, launcher)).collect()
}

/// Returns whether a backend can be used here.
pub fn probe(backend: Backend, _launcher: &Launcher) -> Offer {
    let why = match backend {
        Backend::Seatbelt if Path::new(crate::seatbelt::PROGRAM).exists() => None,
        Backend::Seatbelt => Some(format!("{} is missing", crate::seatbelt::PROGRAM)),
        Backend::None => None,
        _ => Some("it is a part of Linux".to_owned()),
    };
    Offer { backend, available: why.is_none(), why, raise: None, version: None, layers: None }
}

/// Returns why a backend does not work.
pub fn explain(backend: Backend, failed: &Failed) -> Offer {
    let why = Some(failed.to_string());
    Offer { backend, available: false, why, raise: None, version: None, layers: None }
}
