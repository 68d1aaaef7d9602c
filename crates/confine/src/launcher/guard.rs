//! placeholder
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::tree::Fixed;
use super::{Trouble, Try};
use crate::plan::{Plan, Watch};
use crate::wire::Caught;

#[derive(Debug)]
pub(crate) struct Guard {
    events: OwnedFd,
    fixed: Vec<Fixed>,
}

impl Guard {
    pub(crate) fn start(_plan: &Plan, _watch: &Watch) -> Result<Self, Trouble> {
        let events = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC)
            .during(|| "watch".to_owned())?;
        Ok(Guard { events, fixed: Vec::new() })
    }
    pub(crate) fn fixed(&self) -> &[Fixed] {
        &self.fixed
    }
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
    pub(crate) fn look(&mut self) {}
    pub(crate) fn settle(&mut self) -> Vec<Caught> {
        Vec::new()
    }
    pub(crate) fn finish(&mut self) {}
}
