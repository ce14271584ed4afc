//! # Meters: what the kernel itself saw happen, and how fast the machine is

pub(crate) mod canary;
pub(crate) mod cpu;
pub(crate) mod drops;
pub(crate) mod stages;
