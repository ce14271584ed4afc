//! # Params and answers of the `responder.*` methods

use std::net::SocketAddrV4;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::values::{EndpointAddress, Port, Whole};
use crate::endpoint::message::{HEADER_BYTES, LEAST_BYTES, ResponseBytes, request_bytes};
use crate::endpoint::options::SocketOptions;
use crate::endpoint::protocol::Protocol;
use crate::error::Error;

/// `responder.open`: where to listen, and what to answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResponderOpenParams {
    /// The CPU that the thread stays on.
    pub(super) cpu: usize,
    /// The transport protocol.
    pub(super) protocol: Protocol,
    /// The name of the interface.
    pub(super) interface: String,
    /// The address of the interface, at which it listens.
    address: EndpointAddress,
    /// The port at which it listens.
    port: Port,
    /// The length of an answer.
    pub(super) response_bytes: ResponseBytes,
    /// The length of requests that are too short to state it, in bytes; null where requests state it.
    #[serde(default)]
    pub(super) short_message_bytes: Option<Whole<usize, 1, { HEADER_BYTES as u64 - 1 }>>,
    /// How the socket is to behave.
    #[serde(default)]
    pub(super) options: SocketOptions,
}

impl ResponderOpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        let response_bytes = self.response_bytes.to_request(LEAST_BYTES);
        self.protocol
            .check_bytes("response_bytes", response_bytes)?;
        self.options.check(self.protocol)
    }

    pub(super) fn local(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address.get(), self.port.get())
    }

    /// The length of the request that `start` begins.
    #[inline]
    pub(super) fn request(&self, start: &[u8]) -> Request {
        match self.short_message_bytes {
            Some(bytes) => Request::Of(bytes.get()),
            None if start.len() < HEADER_BYTES => Request::Unknown,
            None => request_bytes(start).map_or(Request::Foreign, Request::Of),
        }
    }
}

/// What begins with what has come.
#[derive(Debug)]
pub(super) enum Request {
    /// A request of so many bytes.
    Of(usize),
    /// Too little has come to tell.
    Unknown,
    /// No request.
    Foreign,
}

/// `responder.close`: what came since `responder.open`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ResponderCloseAnswer {
    /// Requests that were answered.
    pub(super) answered: u64,
    /// Datagrams that are no request, and connections broken off since what came on them was none.
    pub(super) refused: u64,
    /// Answers that the kernel did not take.
    pub(super) unsent: u64,
    /// Accepted connections of TCP and associations of SCTP.
    pub(super) connections: u64,
}

impl ResponderCloseAnswer {
    pub(super) fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.refused += other.refused;
        self.unsent += other.unsent;
        self.connections += other.connections;
    }
}
