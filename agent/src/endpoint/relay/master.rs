//! # The master: it sends a message into the ring, and keeps the time until that is back

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use anyhow::Context;

use super::hop::{Incoming, Outgoing};
use super::output::Output;
use super::params::{Connection, RelayGoParams, RelayLoad, RelayParams, RelayPath};
use super::sample::{Failure, RelayStatus, Run};
use crate::endpoint::message::Id;
use crate::endpoint::wait::await_time;
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::interface::Interface;

/// Iterations one after the other that fail before a run is given up: a relay is gone.
const MOST_FAILURES: u64 = 10;
/// Who would end a run ends its process.
static NEVER: AtomicBool = AtomicBool::new(false);
/// Of a message that begins with its sequence number.
const SEQUENCE_BYTES: usize = 8;

/// What the master times.
pub(super) enum Master {
    Nothing,
    Output(Output),
    Network(Box<Ring>),
}

/// The master's two ends of the ring.
pub(super) struct Ring {
    incoming: Incoming,
    outgoing: Outgoing,
    connection: Connection,
    message: Vec<u8>,
    received: Vec<u8>,
}

impl Master {
    pub(super) fn open(params: &RelayParams) -> Result<Self, Error> {
        Ok(match &params.load {
            RelayLoad::Nothing => Self::Nothing,
            RelayLoad::Output(buffering) => Self::Output(
                Output::open(*buffering, params.message_bytes.get())
                    .context("cannot buffer standard output")?,
            ),
            RelayLoad::Network(way) => {
                Self::Network(Box::new(Ring::open(way, params.message_bytes.get())?))
            }
        })
    }

    /// Makes one run, whatever becomes of its iterations.
    pub(super) fn run(&mut self, params: &RelayGoParams) -> Run {
        let mut run = Run {
            ns: room_for(params.iterations.get() as usize),
            ..Run::default()
        };
        let mut failures = 0;
        run.start_ns = now_ns();
        for sequence in 0..params.iterations.get() {
            if let Some(interval_ms) = params.interval_ms {
                // From the number itself, so that no rounding adds up.
                let due_ns = run.start_ns + (sequence as f64 * interval_ms.get() * 1e6) as u64;
                await_time(due_ns, &NEVER);
            }
            let trial = params.trial;
            let begun_ns = now_ns();
            match self.iterate(Id { trial, sequence }) {
                Ok(ns) => {
                    run.ns.push(ns);
                    failures = 0;
                }
                Err(failure) => {
                    run.undone.push((run.ns.len(), failure.status));
                    run.ns.push(now_ns() - begun_ns);
                    run.last_problem = Some(failure.problem);
                    failures += 1;
                }
            }
            if failures == MOST_FAILURES {
                run.given_up = sequence + 1 < params.iterations.get();
                break;
            }
        }
        run.end_ns = now_ns();
        if let Self::Output(output) = self {
            output.flush();
        }
        run
    }

    #[inline]
    fn iterate(&mut self, id: Id) -> Result<u64, Failure> {
        match self {
            Self::Nothing => {
                let begun_ns = now_ns();
                Ok(now_ns() - begun_ns)
            }
            Self::Output(output) => {
                let begun_ns = now_ns();
                output.put_line()?;
                Ok(now_ns() - begun_ns)
            }
            Self::Network(ring) => ring.send_round(id).inspect_err(|_| ring.break_off()),
        }
    }
}

impl Ring {
    fn open(way: &RelayPath, message_bytes: usize) -> Result<Self, Error> {
        let interface = Interface::find("load.network.interface", &way.interface)?;
        Ok(Self {
            incoming: Incoming::open(way, &interface)?,
            outgoing: Outgoing::new(way, interface),
            connection: way.connection,
            message: vec![0; message_bytes],
            received: vec![0; message_bytes],
        })
    }

    #[inline]
    fn send_round(&mut self, id: Id) -> Result<u64, Failure> {
        id.write_request(&mut self.message);
        self.outgoing.prepare()?;
        let begun_ns = now_ns();
        self.outgoing.send(&self.message)?;
        loop {
            self.incoming.receive(&mut self.received)?;
            let ns = now_ns() - begun_ns;
            if self.received == self.message {
                if self.connection == Connection::Fresh {
                    self.incoming.close();
                    self.outgoing.finish();
                }
                return Ok(ns);
            }
            if !is_earlier(&self.received, &self.message) {
                let problem = "what came is no message of the ring's";
                return Err(Failure::new(RelayStatus::Garbage, problem));
            }
            if self.connection == Connection::Fresh {
                self.incoming.close();
            }
        }
    }

    /// The next iteration is to find nothing of this one.
    fn break_off(&mut self) {
        self.incoming.close();
        self.outgoing.close();
    }
}

/// Room that is there already: with pages that come one by one, every 512th iteration would be slow.
fn room_for(samples: usize) -> Vec<u64> {
    let mut room = black_box(vec![u64::MAX; samples]);
    room.clear();
    room
}

/// Whether a message is one of the iterations before, which was late.
fn is_earlier(received: &[u8], sent: &[u8]) -> bool {
    let told = sent.len().min(SEQUENCE_BYTES);
    let sequence = |message: &[u8]| message[..told].iter().rev().copied().collect::<Vec<u8>>();
    sequence(received) < sequence(sent) && received[told..] == sent[told..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(trial: u32, sequence: u64, bytes: usize) -> Vec<u8> {
        let mut message = vec![0; bytes];
        Id { trial, sequence }.write_request(&mut message);
        message
    }

    #[test]
    fn a_late_message_is_told_from_another_ones() {
        for bytes in [4, 8, 12, 64] {
            let sent = message(7, 256, bytes);
            assert!(is_earlier(&message(7, 255, bytes), &sent));
            assert!(!is_earlier(&sent, &sent));
            assert!(!is_earlier(&message(7, 257, bytes), &sent));
            assert_eq!(is_earlier(&message(8, 255, bytes), &sent), bytes <= 8);
        }
    }
}
