//! # Meters: what the kernel itself saw happen

pub(crate) mod drops;
