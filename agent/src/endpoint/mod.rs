//! # Endpoints: what asks and what answers, what sends and what receives
//!
//! A responder answers a requester's messages over TCP or UDP; the requester measures how long each answer takes. A sender
//! sends in bulk, over SCTP too, to a receiver, which counts what comes. An echo asks a kernel itself, by ICMP. Relays pass a
//! message round a ring, and programs of the user's own are started. All are measured themselves and
//! are no control ports: a responder or receiver listens only where it was told to, at one address of one measured interface,
//! and a socket of either end takes and sends nothing by any other interface.

pub(crate) mod echo;
mod message;
mod options;
pub mod program;
mod protocol;
pub(crate) mod receiver;
mod record;
pub mod relay;
pub(crate) mod requester;
pub(crate) mod responder;
mod round_trips;
mod run;
pub(crate) mod sender;
mod socket;
mod sockopt;
mod wait;
