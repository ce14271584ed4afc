//! # Receiving on connections
//!
//! Whoever connects is one of the flows once a record says which. A connection on which something else comes is broken off.

use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{getsockopt, sockopt};

use super::flow::End;
use super::ledger::{Ledger, Shared};
use super::params::ReceiverOpenParams;
use crate::endpoint::protocol::Protocol;
use crate::endpoint::record::{Phase, Record, Splitter};
use crate::endpoint::wait::{Waker, is_ready};
use crate::traffic::clock::now_ns;

/// Taken from one connection at once.
const BUFFER_BYTES: usize = 256 * 1024;

struct Connection {
    stream: TcpStream,
    splitter: Splitter,
    /// Which one it is; None until its first record.
    flow: Option<usize>,
    /// What its next record must be; None before the first.
    next: Option<Record>,
}

/// Serves all flows until woken to end.
pub(super) fn serve(
    listener: &TcpListener,
    params: &ReceiverOpenParams,
    waker: &Waker,
    shared: &Shared,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut connections: Vec<Connection> = Vec::with_capacity(params.flows.get());
    // Flows that have ended keep their place: exactly so many are listened for.
    let mut ended = 0;
    // The others have their turn next. SCTP gives one message at a time.
    let reads = match params.protocol {
        Protocol::Sctp => 64,
        _ => 1,
    };
    loop {
        let watched = [waker.as_fd(), listener.as_fd()].into_iter();
        let watched = watched.chain(
            connections
                .iter()
                .map(|connection| connection.stream.as_fd()),
        );
        let mut watched: Vec<_> = watched
            .map(|socket| PollFd::new(socket, PollFlags::POLLIN))
            .collect();
        params.options.wait_for_input(&mut watched)?;
        let ready: Vec<bool> = watched.iter().map(is_ready).collect();
        if ready[0] {
            return Ok(());
        }
        let mut came = ready[2..].iter();
        connections.retain_mut(|connection| {
            if came.next() != Some(&true) {
                return true;
            }
            let Some(end) = connection.take(reads, &mut buffer, shared) else {
                return true;
            };
            if let Some(flow) = connection.flow {
                let buffer_bytes = getsockopt(&connection.stream, sockopt::RcvBuf).ok();
                shared.end_flow(flow, end, buffer_bytes);
                ended += 1;
            }
            false
        });
        if ready[1] {
            let room = params.flows.get() - ended;
            accept(listener, room, &mut connections, shared)?;
        }
    }
}

/// Takes who has connected, as long as there is `room`.
fn accept(
    listener: &TcpListener,
    room: usize,
    connections: &mut Vec<Connection>,
    shared: &Shared,
) -> io::Result<()> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_of_the_peer(&error) => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        if connections.len() >= room {
            shared.ledger().refused.surplus += 1;
            continue;
        }
        stream.set_nonblocking(true)?;
        connections.push(Connection::new(stream));
    }
}

/// Whether one connection failed, and not the listener.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            splitter: Splitter::default(),
            flow: None,
            next: None,
        }
    }

    /// Takes what has come, at most so many times a buffer of it. Tells how the connection ended, if so.
    fn take(&mut self, reads: usize, buffer: &mut [u8], shared: &Shared) -> Option<End> {
        for _ in 0..reads {
            match self.stream.read(buffer) {
                Ok(0) => return Some(End::Told),
                Ok(count) => {
                    let filed = self.file(&buffer[..count], &mut shared.ledger());
                    if let Err(end) = filed {
                        return Some(end);
                    }
                }
                Err(error) if is_transient(&error) => return None,
                Err(error) => return Some(End::Broken(name_of(&error))),
            }
        }
        None
    }

    fn file(&mut self, mut bytes: &[u8], ledger: &mut Ledger) -> Result<(), End> {
        let now_ns = now_ns();
        loop {
            match self.splitter.next(&mut bytes) {
                Ok(None) => return Ok(()),
                Ok(Some(piece)) if !piece.is_first || self.follows(&piece.record) => {
                    if self.flow.is_none() {
                        self.flow = Some(ledger.connect(&piece.record)?);
                    }
                    ledger.count(&piece, now_ns);
                }
                _ => break,
            }
        }
        ledger.refused.foreign += 1;
        let problem = "something else than the next record came".to_owned();
        Err(End::Broken(problem))
    }

    /// Whether a record is the next of its connection, on which none is lost or comes twice.
    fn follows(&mut self, record: &Record) -> bool {
        let next = self.next.unwrap_or(Record {
            sequence: 0,
            ..*record
        });
        let measures = next.phase == Phase::Warmup && record.phase == Phase::Measure;
        let next = if measures {
            Record {
                phase: Phase::Measure,
                sequence: 0,
                ..next
            }
        } else {
            next
        };
        self.next = Some(Record {
            sequence: next.sequence + 1,
            ..next
        });
        *record == next
    }
}

/// As a sender names it.
fn name_of(error: &io::Error) -> String {
    let number = error.raw_os_error();
    number.map_or_else(
        || error.to_string(),
        |number| Errno::from_raw(number).desc().to_owned(),
    )
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
