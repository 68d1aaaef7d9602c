//! stub
use crate::plan::Backend;
use crate::tree::Failed;
/// stub
pub fn explain(_backend: Backend, failed: &Failed) -> String {
    failed.to_string()
}

/// stub
#[derive(Debug, serde::Serialize)]
pub struct Offer {
    /// stub
    pub backend: Backend,
    /// stub
    pub available: bool,
    /// stub
    pub why: Option<String>,
    /// stub
    pub raise: Option<String>,
    /// stub
    pub layers: Option<crate::wire::Layers>,
}
/// stub
pub fn all(_l: &crate::tree::Launcher) -> Vec<Offer> {
    Vec::new()
}
