//! The part of vtax that touches packets: one binary for hosts, namespaces, containers and guests.

pub mod control;
pub mod guest;
pub mod init;
pub mod traffic;
