//! stub
use crate::plan::Plan;
use crate::wire::Layers;
/// stub
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Held {
    /// stub
    Full,
    /// stub
    Partly,
    /// stub
    Not,
}
/// stub
#[derive(Debug, serde::Serialize)]
pub struct Strength {
    /// stub
    pub rule: &'static str,
    /// stub
    pub held: Held,
    /// stub
    pub by: String,
    /// stub
    pub note: Option<String>,
}
/// stub
pub fn strength(_plan: &Plan, _layers: Option<&Layers>) -> Vec<Strength> {
    Vec::new()
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad("x")
    }
}
