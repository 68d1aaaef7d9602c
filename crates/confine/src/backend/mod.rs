//! Ways to confine that another program carries out.

pub(crate) mod bubblewrap;
