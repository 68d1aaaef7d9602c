//! Lets a confined command reach allowed hosts and no others.
//!
//! Inside the sandbox there is no way out but sockets that the program outside
//! accepts on: a resolver that gives each allowed name an address of its own,
//! listeners at those addresses, and a proxy. Everything that arrives is judged
//! by name and port, held to that name by what it says in TLS or HTTP, and
//! dialled from outside.

mod account;
mod authority;
pub mod codec;
mod dial;
pub mod dns;
mod event;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
pub mod hello;
mod http;
mod mask;
pub mod presets;
mod relay;
mod secret;
pub mod socks;
mod terminate;
mod workers;

pub use account::{Account, Used};
pub use authority::Authority;
pub use event::{Event, Reason};
pub use gate::{Desk, Gate, Layout, Refused, Setting, environment};
pub use secret::{BadSecret, Secret};
