//! Traffic: what sends, receives and drops test frames.

mod bpf;
mod clsact;
mod error;
pub mod ingress;
mod interface;
pub mod sink;
#[cfg(test)]
mod testing;
mod xdp_link;

pub use error::Error;
