//! # Meters: what the kernel itself saw happen

pub(crate) mod cpu;
pub(crate) mod drops;
pub(crate) mod stages;
