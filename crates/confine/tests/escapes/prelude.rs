//! What nearly every attack uses.

pub(crate) use std::fs;
pub(crate) use std::io;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::time::Duration;

pub(crate) use zonekeep_confine::plan::Backend;

pub(crate) use crate::attack::{Attack, Control, Given, OWN_TREE, Outcome};
pub(crate) use crate::scene::{MARK, SECRET, Scene, Target};
pub(crate) use crate::sys::{self, call, text};
