//! Runs worker files: a model, the tools that the worker has, and the workers
//! that it calls.

pub mod model;
