//! # One flow of a sender

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, Shutdown, getsockopt, recv, send, shutdown, sockopt};
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{Next, Plan};
use super::sctp::{self, SctpState};
use super::tcp::{self, Snapshot, TcpState};
use crate::endpoint::protocol::Protocol;
use crate::endpoint::record::{HEADER_BYTES, Phase, Record};
use crate::traffic::clock::now_ns;

/// Messages after which it is the next flow's turn.
const BURST: usize = 8;

#[derive(Debug)]
pub(super) struct Flow {
    socket: OwnedFd,
    protocol: Protocol,
    /// What is being sent, or was last.
    record: Record,
    /// Bytes of it that the kernel took; None where no record is under way.
    taken: Option<usize>,
    /// Messages so far, of both phases, refused ones among them.
    slot: u64,
    counts: Counts,
    at_start: Snapshot,
    /// Chunks of SCTP that were sent again by then.
    retransmitted_at_start: Option<u64>,
    /// Why it broke off.
    problem: Option<String>,
}

/// Of the measured window.
#[derive(Clone, Debug, Default)]
struct Counts {
    messages: u64,
    bytes: u64,
    /// By the number of the reason.
    errors: BTreeMap<i32, u64>,
}

/// What a flow waits for after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Nothing,
    Room,
    Time(u64),
    /// It sends no more.
    Over,
}

/// `sender.collect`: one flow's measured window.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SentFlow {
    /// The number of the flow, counted from 0.
    flow: u8,
    /// Messages handed to the kernel whole.
    messages: u64,
    /// Bytes handed to the kernel; of a message that the window's end cut, what a receiver can count.
    bytes: u64,
    /// Messages that the kernel refused, by its reason, as in {"ENOBUFS": 3}. They left no gap in the sequence.
    send_errors: BTreeMap<String, u64>,
    /// Why it broke off; null where it did not.
    problem: Option<String>,
    /// The state of the connection; null of other protocols, and where it was gone.
    tcp: Option<TcpState>,
    /// The state of the association; null of other protocols, and where it was gone.
    sctp: Option<SctpState>,
    /// What its kernel lets the send buffer hold at the window's end, the kernel's own bookkeeping included: twice what is asked for.
    send_buffer_bytes: Option<usize>,
}

impl Flow {
    /// Of a socket that is connected and never waits.
    pub(super) fn new(socket: OwnedFd, protocol: Protocol, flow: u8, message_bytes: usize) -> Self {
        Self {
            socket,
            protocol,
            record: Record {
                trial: 0,
                length: message_bytes,
                phase: Phase::Warmup,
                flow,
                sequence: 0,
            },
            taken: None,
            slot: 0,
            counts: Counts::default(),
            at_start: None,
            retransmitted_at_start: None,
            problem: None,
        }
    }

    /// Sends as much as its turn allows; `message` is as long as a message, its content of no matter.
    #[inline]
    pub(super) fn take_turn(&mut self, plan: &Plan, message: &mut [u8]) -> Turn {
        if self.problem.is_some() {
            return Turn::Over;
        }
        for _ in 0..BURST {
            let taken = match self.taken {
                Some(taken) => taken,
                None => {
                    match plan.next(usize::from(self.record.flow), self.slot, now_ns()) {
                        Next::Send(phase) => self.begin(plan.trial, phase),
                        Next::WaitUntil(due_ns) => return Turn::Time(due_ns),
                        Next::End => return Turn::Over,
                    }
                    0
                }
            };
            message[..HEADER_BYTES].copy_from_slice(&self.record.header());
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            match send(self.socket.as_raw_fd(), &message[taken..], flags) {
                Ok(more) => self.advance(taken, taken + more),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Turn::Room,
                Err(errno) if self.protocol.is_datagram() => self.refuse(errno),
                Err(errno) => {
                    self.problem = Some(errno.desc().to_owned());
                    return Turn::Over;
                }
            }
        }
        Turn::Nothing
    }

    fn begin(&mut self, trial: u32, phase: Phase) {
        if phase != self.record.phase {
            self.record.sequence = 0;
        }
        self.record = Record {
            trial,
            phase,
            ..self.record
        };
        self.slot += 1;
        self.taken = Some(0);
    }

    /// Counts as a receiver does: a header when it is whole.
    fn advance(&mut self, before: usize, after: usize) {
        let counted = |bytes: usize| if bytes < HEADER_BYTES { 0 } else { bytes };
        let is_whole = after == self.record.length;
        if self.record.phase == Phase::Measure {
            self.counts.bytes += (counted(after) - counted(before)) as u64;
            self.counts.messages += u64::from(is_whole);
        }
        self.taken = (!is_whole).then_some(after);
        self.record.sequence += u64::from(is_whole);
    }

    fn refuse(&mut self, errno: Errno) {
        if self.record.phase == Phase::Measure {
            *self.counts.errors.entry(errno as i32).or_default() += 1;
        }
        self.taken = None;
    }

    /// The window begins.
    pub(super) fn start(&mut self) {
        match self.protocol {
            Protocol::Tcp => self.at_start = tcp::snapshot(&self.socket),
            Protocol::Sctp => self.retransmitted_at_start = sctp::retransmitted(&self.socket),
            Protocol::Udp => {}
        }
    }

    /// The window is over, or was given up: tells what was in it, and the receiver that all of it was sent.
    pub(super) fn finish(&mut self, is_aborted: bool) -> SentFlow {
        let at_end = self.at_start.and_then(|_| tcp::snapshot(&self.socket));
        let tcp = tcp::between(self.at_start, at_end, &self.socket);
        let sctp = sctp::since(self.retransmitted_at_start, &self.socket);
        if !self.protocol.is_datagram() && !is_aborted && self.problem.is_none() {
            // It fails where the peer is gone, which is then told as well.
            if let Err(errno) = shutdown(self.socket.as_raw_fd(), Shutdown::Write) {
                self.problem = Some(errno.desc().to_owned());
            }
        }
        let errors = self.counts.errors.iter();
        SentFlow {
            flow: self.record.flow,
            messages: self.counts.messages,
            bytes: self.counts.bytes,
            send_errors: errors
                .map(|(&errno, &count)| (format!("{:?}", Errno::from_raw(errno)), count))
                .collect(),
            problem: self.problem.clone(),
            tcp,
            sctp,
            send_buffer_bytes: getsockopt(&self.socket, sockopt::SndBuf).ok(),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.problem.is_some()
    }

    /// Takes what ICMP said of earlier messages, which would else end every wait for room. `send` tells it as well.
    pub(super) fn forget_errors(&self) {
        let queued = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        while self.protocol.is_datagram() && recv(self.socket.as_raw_fd(), &mut [0], queued).is_ok()
        {
        }
    }
}

impl AsFd for Flow {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
