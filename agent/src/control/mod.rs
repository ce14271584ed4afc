//! The control stream: JSON-RPC 2.0, one message a line, on the byte stream that the agent was started with.

pub mod message;
pub mod methods;
pub mod server;
pub mod stream;
