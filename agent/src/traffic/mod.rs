//! # Traffic: what sends, receives and drops test frames

pub(crate) mod bpf;
pub(crate) mod clock;
mod clsact;
pub(crate) mod frame;
pub mod ingress;
pub(crate) mod interface;
pub(crate) mod jitter;
pub(crate) mod layout;
mod lengths;
mod mechanism;
pub(crate) mod perf_event;
pub mod sink;
pub(crate) mod source;
pub(crate) mod strand;
#[cfg(test)]
pub(crate) mod testing;
mod xdp_link;
