//! Traffic: what sends, receives and drops test frames.

mod bpf;
mod clsact;
mod error;
pub mod ingress;
pub mod sink;
#[cfg(test)]
mod testing;

pub use error::Error;
