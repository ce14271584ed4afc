//! # Control: JSON-RPC 2.0 over the byte stream the agent was started with
//!
//! One message a line of at most [`LINE_LIMIT_BYTES`], newline included.

mod hello;
pub mod init;
mod message;
mod server;
mod stream;
mod terminal;

pub use server::serve;
pub use stream::LINE_LIMIT_BYTES;
