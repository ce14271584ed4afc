//! # Control: JSON-RPC 2.0 over the byte stream the agent was started with
//!
//! One message a line of at most [`LINE_LIMIT_BYTES`], newline included.

mod calls;
mod hello;
pub mod init;
mod message;
mod meters;
mod methods;
mod programs;
mod server;
mod slot;
mod stream;
mod streams;
mod stress;
mod terminal;

pub use server::serve;
pub use stream::LINE_LIMIT_BYTES;
