//! # Traffic: what sends, receives and drops test frames

mod clock;
mod frame;
pub(crate) mod source;

pub use crate::error::Error;
