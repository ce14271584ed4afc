//! # Traffic: what sends, receives and drops test frames

pub(crate) mod bpf;
mod clock;
mod clsact;
mod frame;
pub mod ingress;
mod interface;
mod lengths;
mod mechanism;
pub mod sink;
pub(crate) mod source;
#[cfg(test)]
pub(crate) mod testing;
mod xdp_link;

pub use crate::error::Error;
