//! # A feed: one sequence of frames into one mechanism
//!
//! The frames are built once. From then on only what differs is written into them, and nothing is allocated.

use std::os::fd::BorrowedFd;

use anyhow::anyhow;

use super::load::Tally;
use super::variety::Variety;
use crate::Error;
use crate::traffic::frame::{Phase, SEQUENCE_NUMBERS, stamp};
use crate::traffic::mechanism::Mechanism;

#[derive(Debug)]
pub(super) struct Feed<'a> {
    mechanism: &'a mut dyn Mechanism,
    /// Where its frames go, for messages.
    interface: &'a str,
    variety: Option<Variety>,
    /// When each slot was stamped.
    times_ns: Vec<u64>,
    phase: Phase,
    next: u64,
    tally: Tally,
}

impl<'a> Feed<'a> {
    /// A feed of frames like `frame`, or of shorter ones where they vary.
    pub(super) fn new(
        mechanism: &'a mut dyn Mechanism,
        interface: &'a str,
        frame: &[u8],
        header_bytes: usize,
        variety: Option<Variety>,
    ) -> Self {
        mechanism.load(frame, header_bytes);
        // Where the kernel makes the headers, there is nothing to vary.
        let variety = variety.filter(|_| mechanism.headers(0, frame.len()).is_some());
        Self {
            times_ns: vec![0; mechanism.slots()],
            mechanism,
            interface,
            variety,
            phase: Phase::Probe,
            next: 0,
            tally: Tally::default(),
        }
    }

    /// What to wait on while there is no room.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.mechanism.descriptor()
    }

    /// Starts a phase with sequence number 0 and nothing sent.
    pub(super) fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.next = 0;
        self.tally = Tally {
            send_errors: self.mechanism.sees_drops().then_some(0),
            blocked: Some(0),
            ..Tally::default()
        };
    }

    /// Number of the frame in slot 0.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Most frames of one send.
    #[inline]
    pub(super) fn slots(&self) -> usize {
        self.times_ns.len()
    }

    /// Whether the phase's sequence numbers may not suffice for another send.
    #[inline]
    pub(super) fn is_exhausted(&self) -> bool {
        self.next + self.slots() as u64 > SEQUENCE_NUMBERS
    }

    /// When the frame in `slot` was made ready to depart.
    #[inline]
    pub(super) fn time_ns(&self, slot: usize) -> u64 {
        self.times_ns[slot]
    }

    /// Ends the phase: everything counted was given to the interface when this returns.
    pub(super) fn end(&mut self) -> Tally {
        self.mechanism.flush();
        self.tally
    }

    /// Writes the frame `slot` after the next into its place, to depart now; its delay counts from `since_ns`.
    #[inline]
    pub(super) fn stamp(&mut self, slot: usize, is_probe: bool, since_ns: u64, now: u64) {
        let sequence = self.next + slot as u64;
        let fields = self.mechanism.fields(slot);
        stamp(fields, self.phase, is_probe, sequence as u32, since_ns);
        if let Some(variety) = &self.variety {
            variety.begin(self.mechanism, slot, sequence);
        }
        self.times_ns[slot] = now;
    }

    /// Offers the first `count` slots to the interface and returns how many are done with; none where there is no room.
    ///
    /// A frame that the interface dropped counts as sent and as an error.
    #[inline]
    pub(super) fn send(&mut self, count: usize) -> Result<usize, Error> {
        let sent = self.mechanism.send(count).map_err(|errno| {
            let interface = self.interface;
            anyhow!(errno).context(format!("{interface} refuses what is sent"))
        })?;
        let done = sent.taken;
        if done == 0 {
            *self.tally.blocked.get_or_insert(0) += 1;
            return Ok(0);
        }
        if let Some(send_errors) = &mut self.tally.send_errors {
            *send_errors += sent.dropped as u64;
        }
        self.next += done as u64;
        self.tally.frames_sent += done as u64;
        self.tally.sends += 1;
        self.tally.longest_burst = self.tally.longest_burst.max(done as u64);
        self.tally.first_ns.get_or_insert(self.times_ns[0]);
        self.tally.last_ns = Some(self.times_ns[done - 1]);
        Ok(done)
    }
}
