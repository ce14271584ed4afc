//! # Programs of the user's own: a server, and a client that times it (matthews2009, section 5)
//!
//! `server.open` starts a program and waits for the line that says it is ready; `server.watch` tells when it has ended.
//! `client.run` starts another, whose standard output is samples in ns, a line each, and waits for its end. Both are
//! confined ([`confine`]), and end, with all that they have started, at the end of what the agent wanted of them.

mod client;
mod confine;
mod files;
mod output;
mod params;
mod process;
mod samples;
mod serve;
mod server;
mod watch;

pub(crate) use self::client::Client;
pub(crate) use self::files::Files;
pub use self::serve::serve;
pub(crate) use self::server::{Server, ServerOpenParams};
