//! # A feed: one sequence of frames into one socket
//!
//! The frames are built once. From then on only what differs is written into them, and nothing is allocated.

use nix::errno::Errno;

use super::mechanism::Tally;
use super::socket::{BATCH, PacketSocket};
use crate::traffic::frame::{Phase, SEQUENCE_NUMBERS, stamp};

#[derive(Debug)]
pub(super) struct Feed<'a> {
    socket: &'a PacketSocket,
    frame_bytes: usize,
    /// [`BATCH`] frames, one after the other: a stamped frame waits in its slot to be sent.
    frames: Vec<u8>,
    /// When each slot was stamped.
    times_ns: [u64; BATCH],
    phase: Phase,
    next: u64,
    tally: Tally,
}

impl<'a> Feed<'a> {
    /// A feed of frames like `frame`.
    pub(super) fn new(socket: &'a PacketSocket, frame: &[u8]) -> Self {
        Self {
            socket,
            frame_bytes: frame.len(),
            frames: frame.repeat(BATCH),
            times_ns: [0; BATCH],
            phase: Phase::Probe,
            next: 0,
            tally: Tally::default(),
        }
    }

    pub(super) fn socket(&self) -> &'a PacketSocket {
        self.socket
    }

    /// Starts a phase with sequence number 0 and nothing sent.
    pub(super) fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.next = 0;
        self.tally = Tally::default();
    }

    /// Number of the frame in slot 0.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether the phase's sequence numbers may not suffice for another batch.
    #[inline]
    pub(super) fn is_exhausted(&self) -> bool {
        self.next + BATCH as u64 > SEQUENCE_NUMBERS
    }

    /// When the frame in `slot` was made ready to depart.
    #[inline]
    pub(super) fn time_ns(&self, slot: usize) -> u64 {
        self.times_ns[slot]
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Writes the frame `slot` after the next into its place, to depart now; its delay counts from `since_ns`.
    #[inline]
    pub(super) fn stamp(&mut self, slot: usize, is_probe: bool, since_ns: u64, now: u64) {
        let frame = &mut self.frames[slot * self.frame_bytes..][..self.frame_bytes];
        let sequence = (self.next + slot as u64) as u32;
        stamp(frame, self.phase, is_probe, sequence, since_ns);
        self.times_ns[slot] = now;
    }

    /// Offers the first `count` slots to the interface and returns how many are done with; none when the socket is full.
    ///
    /// A frame that fails otherwise, with ENOBUFS for instance, was dropped by the interface. It counts as sent and as an
    /// error. A batch that stops at such a frame does not say why. The frame is then offered again, in the next call.
    #[inline]
    pub(super) fn send(&mut self, count: usize) -> usize {
        let frames = &self.frames[..count * self.frame_bytes];
        let sent = match count {
            1 => self.socket.send(frames).map(|()| 1),
            _ => self.socket.send_many(frames, self.frame_bytes),
        };
        let done = match sent {
            Ok(sent) => sent,
            Err(Errno::EAGAIN) => {
                self.tally.blocked += 1;
                return 0;
            }
            Err(_) => {
                self.tally.send_errors += 1;
                1
            }
        };
        self.next += done as u64;
        self.tally.frames_sent += done as u64;
        self.tally.first_ns.get_or_insert(self.times_ns[0]);
        self.tally.last_ns = Some(self.times_ns[done - 1]);
        done
    }
}
