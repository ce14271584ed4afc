//! # Endpoints: what asks and what answers
//!
//! A responder answers a requester's messages over TCP or UDP; the requester measures how long each answer takes. Both are
//! measured themselves and are no control ports: a responder listens only where it was told to, at one address of one
//! measured interface, and a socket of either takes and sends nothing by any other interface.

mod message;
pub(crate) mod requester;
pub(crate) mod responder;
mod socket;
