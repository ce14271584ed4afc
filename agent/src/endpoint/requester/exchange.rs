//! # One request, one answer

use std::io::{self, ErrorKind};
use std::sync::atomic::AtomicBool;

use anyhow::Context;

use super::params::RequesterOpenParams;
use super::wire::{Patience, Wire};
use crate::endpoint::message::Id;
use crate::endpoint::protocol::Protocol;
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::interface::Interface;

/// How a transaction ended.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Datagrams that came meanwhile and are no answer to it.
    pub(super) strays: u64,
    pub(super) result: Result<RoundTrip, Failure>,
}

#[derive(Debug)]
pub(super) struct RoundTrip {
    pub(super) sent_ns: u64,
    pub(super) received_ns: u64,
}

/// A transaction without its answer. It lasts its whole timeout, so that a responder that is gone is not hammered.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) until_ns: u64,
    pub(super) problem: String,
}

/// Requests and their answers, one at a time.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    params: &'a RequesterOpenParams,
    interface: &'a Interface,
    abort: &'a AtomicBool,
    /// None after a failure: a late answer must find nobody who may take it for the next one's.
    wire: Option<Wire<'a>>,
    /// What was sent again on wires that are gone.
    retransmissions: u64,
    request: Vec<u8>,
    response: Vec<u8>,
}

impl<'a> Exchange<'a> {
    /// Connects to the responder.
    pub(super) fn open(
        params: &'a RequesterOpenParams,
        interface: &'a Interface,
        abort: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let wire = Wire::open(params, interface)?;
        let until_ns = now_ns() + params.timeout_ns();
        wire.connect(Patience { until_ns, abort })
            .with_context(|| {
                let remote = params.remote();
                format!("cannot connect to {remote}; open the responder there first")
            })?;
        Ok(Self {
            params,
            interface,
            abort,
            wire: Some(wire),
            retransmissions: 0,
            request: vec![0; params.message_bytes.get()],
            // Room to tell a datagram that is too long.
            response: vec![0; params.response_bytes() + 1],
        })
    }

    #[inline]
    pub(super) fn perform(&mut self, id: Id) -> Outcome {
        let until_ns = now_ns() + self.params.timeout_ns();
        let mut strays = 0;
        let result = self.ask(id, until_ns, &mut strays);
        Outcome {
            strays,
            result: result.map_err(|error| {
                self.retransmissions += self.wire.take().map_or(0, |wire| wire.retransmissions());
                Failure {
                    until_ns,
                    problem: error.to_string(),
                }
            }),
        }
    }

    /// Segments that TCP has sent again so far. None of other protocols.
    pub(super) fn retransmissions(&self) -> Option<u64> {
        let under_way = self.wire.as_ref().map_or(0, Wire::retransmissions);
        let is_tcp = self.params.protocol == Protocol::Tcp;
        is_tcp.then_some(self.retransmissions + under_way)
    }

    #[inline]
    fn ask(&mut self, id: Id, until_ns: u64, strays: &mut u64) -> io::Result<RoundTrip> {
        let abort = self.abort;
        let patience = Patience { until_ns, abort };
        let wire = match self.wire.take() {
            Some(wire) => wire,
            None => {
                let wire = Wire::open(self.params, self.interface).map_err(io::Error::other)?;
                wire.connect(patience)?;
                wire
            }
        };
        let wire = self.wire.insert(wire);
        id.write_request(&mut self.request);
        let sent_ns = now_ns();
        wire.send(&self.request, patience)?;
        let expected = self.params.response_bytes();
        let mut filled = 0;
        loop {
            match self.params.protocol {
                Protocol::Tcp | Protocol::Sctp => {
                    match wire.receive(&mut self.response[filled..expected], patience)? {
                        0 => return Err(ErrorKind::UnexpectedEof.into()),
                        more => filled += more,
                    }
                }
                Protocol::Udp => filled = wire.receive(&mut self.response, patience)?,
            }
            let received_ns = now_ns();
            let response = &self.response[..expected];
            if filled == expected && id.is_answered_by(response, self.request.len()) {
                return Ok(RoundTrip {
                    sent_ns,
                    received_ns,
                });
            }
            match self.params.protocol {
                Protocol::Udp => *strays += 1,
                _ if filled < expected => {}
                _ => return Err(io::Error::other("the answer is another request's")),
            }
            patience.check()?;
        }
    }
}
