//! # The forwarder: it passes on what it receives

use super::hop::{Incoming, Outgoing};
use super::params::{Connection, RelayPath};
use super::sample::{Failure, RelayStatus};
use crate::endpoint::message::{HEADER_BYTES, request_bytes};
use crate::error::Error;
use crate::traffic::interface::Interface;

/// A forwarder's two ends.
pub(super) struct Forwarder {
    incoming: Incoming,
    outgoing: Outgoing,
    connection: Connection,
    message: Vec<u8>,
}

impl Forwarder {
    pub(super) fn open(way: &RelayPath, message_bytes: usize) -> Result<Self, Error> {
        let interface = Interface::find("load.network.interface", &way.interface)?;
        Ok(Self {
            incoming: Incoming::open(way, &interface)?,
            outgoing: Outgoing::new(way, interface),
            connection: way.connection,
            message: vec![0; message_bytes],
        })
    }

    /// Passes on until it is killed; `tell` hears of what is not passed on, and why.
    pub(super) fn run(mut self, mut tell: impl FnMut(String)) -> ! {
        loop {
            if let Err(failure) = self.pass_on() {
                // Whoever says nothing keeps nobody else waiting.
                let is_quiet = match failure.status {
                    RelayStatus::Timeout => self.is_idle(),
                    RelayStatus::Ended => self.connection == Connection::Persistent,
                    _ => false,
                };
                if failure.status != RelayStatus::Timeout || !is_quiet {
                    self.incoming.close();
                }
                if !is_quiet {
                    tell(failure.problem);
                }
            }
        }
    }

    #[inline]
    fn pass_on(&mut self) -> Result<(), Failure> {
        self.incoming.receive(&mut self.message)?;
        if !is_message(&self.message) {
            return Err(Failure::new(
                RelayStatus::Garbage,
                "what came is no message",
            ));
        }
        if let Err(failure) = self.outgoing.send(&self.message) {
            self.outgoing.close();
            return Err(Failure::new(RelayStatus::Broken, failure.problem));
        }
        if self.connection == Connection::Fresh {
            self.incoming.close();
            self.outgoing.finish();
        }
        Ok(())
    }

    /// Whether it is in order that nothing has come.
    fn is_idle(&self) -> bool {
        self.connection == Connection::Persistent || !self.incoming.is_connected()
    }
}

/// As far as it has room to tell.
fn is_message(message: &[u8]) -> bool {
    message.len() < HEADER_BYTES || request_bytes(message) == Some(message.len())
}
