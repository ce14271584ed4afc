//! # The agent
//!
//! The only part of vtax that touches packets. It serves JSON-RPC on the byte stream it was started with, and on nothing
//! else: it opens no control port. (A responder or receiver listens as the endpoint that is measured.)

mod api;
pub mod control;
mod cpu;
mod endpoint;
mod error;
mod guest;
mod mac;
mod meter;
mod netdevice;
mod offload;
mod stress;
pub mod traffic;

pub use api::contract;
pub use cpu::CpuList;
pub use endpoint::program::serve as supervise_program;
pub use endpoint::relay::serve as serve_as_relay;
pub use error::Error;
pub use guest::runs_as_init;
