//! Traffic: what sends, receives and drops test frames.

mod bpf;
mod clock;
mod clsact;
mod error;
pub mod frame;
pub mod ingress;
mod interface;
mod schedule;
pub mod sink;
pub mod source;
#[cfg(test)]
mod testing;
mod xdp_link;

pub use clock::{now_ns, pin_this_thread};
pub use error::Error;
