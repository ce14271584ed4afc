//! The part of vtax that touches packets.

pub mod traffic;
