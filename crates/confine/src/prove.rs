//! stub
use crate::tree::{Failed, Tree};
/// stub
#[derive(Debug)]
pub struct Check {
    /// stub
    pub name: String,
}
/// stub
#[derive(Debug)]
pub struct Report;
impl Report {
    /// stub
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        [].into_iter()
    }
}
/// stub
pub fn prove(_tree: &Tree) -> Result<Report, Failed> {
    Ok(Report)
}
pub(crate) fn attempt() -> i32 {
    0
}
