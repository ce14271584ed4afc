//! # A feed: a strand's frames into one mechanism
//!
//! The frames are built once. From then on only what differs is written into them, and nothing is allocated.

use std::os::fd::BorrowedFd;

use anyhow::anyhow;

use super::link::Link;
use super::load::{Part, Tally, Window};
use super::variety::Variety;
use crate::error::Error;
use crate::traffic::frame::{Departure, Phase, SEQUENCE_NUMBERS, stamp};
use crate::traffic::mechanism::Mechanism;
use crate::traffic::strand::Strand;

#[derive(Debug)]
pub(super) struct Feed<'a> {
    mechanism: &'a mut dyn Mechanism,
    /// Where its frames go, for messages.
    interface: &'a str,
    strand: Strand,
    variety: Option<Variety>,
    /// None where its frames leave as fast as the interface takes them.
    link: Option<Link>,
    /// When each slot was stamped.
    times_ns: Vec<u64>,
    phase: Phase,
    /// As the strand numbers its frames.
    next: u64,
    /// Since when there has been no room for the next frame.
    full_since_ns: Option<u64>,
    tally: Tally,
}

/// A feed, and the stream whose strand it sends.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    /// The place of the stream among those of the source.
    pub(super) stream: usize,
    pub(super) feed: Feed<'a>,
}

impl<'a> Placed<'a> {
    /// What was sent of it, once `end` has ended the phase.
    pub(super) fn part(&mut self, end: impl FnOnce(&mut Feed<'a>) -> Tally) -> Part {
        Part {
            stream: self.stream,
            strand: self.feed.strand,
            tally: end(&mut self.feed),
        }
    }
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
            strand: Strand::WHOLE,
            variety,
            link: None,
            phase: Phase::Probe,
            next: 0,
            full_since_ns: None,
            tally: Tally::default(),
        }
    }

    /// The same on a link, whose rate it keeps to.
    pub(super) fn on(self, link: Option<Link>) -> Self {
        Self { link, ..self }
    }

    /// The same of one strand's frames.
    pub(super) fn of(self, strand: Strand) -> Self {
        Self { strand, ..self }
    }

    pub(super) fn strand(&self) -> Strand {
        self.strand
    }

    /// What to wait on while there is no room.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.mechanism.descriptor()
    }

    /// Starts a phase with the strand's first sequence number and nothing sent.
    pub(super) fn begin(&mut self, window: &Window) {
        if let Some(link) = &mut self.link {
            link.begin(window.start_ns);
        }
        self.phase = window.phase;
        self.next = 0;
        self.full_since_ns = None;
        self.tally = Tally {
            send_errors: self.mechanism.sees_drops().then_some(0),
            blocked: Some(0),
            waits: Some(0),
            waited_ns: Some(0),
            ..Tally::default()
        };
    }

    /// Number of the frame in slot 0 among the strand's own.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Most frames of one send.
    #[inline]
    pub(super) fn slots(&self) -> usize {
        self.times_ns.len()
    }

    /// How many frames may be sent at once now: none while the link has had no time for the next.
    #[inline]
    pub(super) fn allowed(&mut self, now: u64) -> usize {
        let (next, most) = (self.next, self.slots());
        let link = self.link.as_mut();
        link.map_or(most, |link| link.allows(now, next, most))
    }

    /// Whether the phase's sequence numbers may not suffice for another send.
    #[inline]
    pub(super) fn is_exhausted(&self) -> bool {
        self.strand.number(self.next + self.slots() as u64) > SEQUENCE_NUMBERS
    }

    /// When the frame in `slot` was made ready to depart.
    #[inline]
    pub(super) fn time_ns(&self, slot: usize) -> u64 {
        self.times_ns[slot]
    }

    /// Ends the phase, at `end_ns`: everything counted was given to the interface when this returns.
    pub(super) fn end(&mut self, end_ns: u64) -> Tally {
        self.found_room(end_ns);
        self.mechanism.flush();
        self.tally
    }

    /// The same at the end of a flood, which wants all of its link's time.
    pub(super) fn end_flood(&mut self, end_ns: u64) -> Tally {
        let unsent = self.link.as_mut().map(|link| link.unsent(end_ns));
        Tally {
            unsent,
            ..self.end(end_ns)
        }
    }

    /// Writes the frame `slot` after the next into its place, to depart now.
    #[inline]
    pub(super) fn stamp(&mut self, slot: usize, is_probe: bool, departure: Departure) {
        let sequence = self.strand.number(self.next + slot as u64);
        let fields = self.mechanism.fields(slot);
        stamp(fields, self.phase, is_probe, sequence as u32, departure);
        if let Some(variety) = &self.variety {
            variety.begin(self.mechanism, slot, sequence);
        }
        self.times_ns[slot] = departure.departed_ns;
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
        if let Some(send_errors) = &mut self.tally.send_errors {
            *send_errors += sent.dropped as u64;
        }
        let done = sent.taken;
        if done == 0 {
            *self.tally.blocked.get_or_insert(0) += 1;
            if self.full_since_ns.is_none() {
                self.full_since_ns = Some(self.times_ns[0]);
                *self.tally.waits.get_or_insert(0) += 1;
            }
            return Ok(0);
        }
        self.found_room(self.times_ns[0]);
        if let Some(link) = &mut self.link {
            link.carried(self.next, done);
        }
        self.next += done as u64;
        self.tally.frames_sent += done as u64;
        self.tally.sends += 1;
        self.tally.longest_burst = self.tally.longest_burst.max(done as u64);
        self.tally.first_ns.get_or_insert(self.times_ns[0]);
        self.tally.last_ns = Some(self.times_ns[done - 1]);
        Ok(done)
    }

    /// Counts the frame that was sent last as a probe.
    #[inline]
    pub(super) fn count_probe(&mut self) {
        self.tally.probes_sent += 1;
    }

    /// Ends a wait for room, from the frame that found none to the one that did.
    #[inline]
    fn found_room(&mut self, now: u64) {
        if let Some(since) = self.full_since_ns.take() {
            *self.tally.waited_ns.get_or_insert(0) += now.saturating_sub(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use nix::errno::Errno;

    use super::*;
    use crate::traffic::mechanism::Sent;

    /// Takes as many frames of each send as it was told to.
    #[derive(Debug)]
    struct Scripted {
        takes: Vec<usize>,
        fields: [u8; 64],
        descriptor: File,
    }

    impl Scripted {
        fn taking(takes: &[usize]) -> Self {
            Self {
                takes: takes.iter().rev().copied().collect(),
                fields: [0; 64],
                descriptor: File::open("/dev/null").unwrap(),
            }
        }
    }

    impl Mechanism for Scripted {
        fn load(&mut self, _frame: &[u8], _header_bytes: usize) {}

        fn greatest_frame_bytes(&self) -> usize {
            64
        }

        fn slots(&self) -> usize {
            4
        }

        fn headers(&mut self, _slot: usize, _frame_bytes: usize) -> Option<&mut [u8]> {
            None
        }

        fn fields(&mut self, _slot: usize) -> &mut [u8] {
            &mut self.fields
        }

        fn send(&mut self, _count: usize) -> Result<Sent, Errno> {
            Ok(Sent {
                taken: self.takes.pop().unwrap(),
                dropped: 0,
            })
        }

        fn descriptor(&self) -> BorrowedFd<'_> {
            self.descriptor.as_fd()
        }
    }

    fn window(phase: Phase) -> Window {
        Window {
            phase,
            start_ns: 0,
            end_ns: 1000,
        }
    }

    /// What a feed reports that sent at such times, each time as many frames as the mechanism took, and ended.
    fn tally(sends: &[(u64, usize)], end_ns: u64) -> Tally {
        let takes: Vec<usize> = sends.iter().map(|(_, taken)| *taken).collect();
        let mut mechanism = Scripted::taking(&takes);
        let mut feed = Feed::new(&mut mechanism, "src0", &[0; 64], 0, None);
        feed.begin(&window(Phase::Measure));
        for (now, taken) in sends {
            feed.stamp(0, false, Departure::at(*now));
            assert_eq!(feed.send(1).unwrap(), *taken);
        }
        feed.end(end_ns)
    }

    #[test]
    fn a_feed_that_always_finds_room_never_waits() {
        let tally = tally(&[(100, 1), (200, 1)], 1000);
        assert_eq!((tally.waited_ns, tally.blocked), (Some(0), Some(0)));
    }

    #[test]
    fn a_wait_is_from_the_first_refusal_to_the_frame_that_found_room() {
        let sends = [
            (100, 1),
            (200, 0),
            (260, 0),
            (300, 1),
            (400, 1),
            (500, 0),
            (525, 1),
        ];
        let tally = tally(&sends, 1000);
        assert_eq!((tally.waited_ns, tally.blocked), (Some(125), Some(3)));
        assert_eq!(tally.waits, Some(2));
    }

    #[test]
    fn a_wait_that_no_frame_ended_lasts_to_the_end_of_the_phase() {
        let tally = tally(&[(100, 1), (200, 0)], 1000);
        assert_eq!((tally.waited_ns, tally.frames_sent), (Some(800), 1));
    }

    #[test]
    fn a_phase_begins_without_the_wait_of_the_one_before() {
        let mut mechanism = Scripted::taking(&[0, 1]);
        let mut feed = Feed::new(&mut mechanism, "src0", &[0; 64], 0, None);
        feed.begin(&window(Phase::Warmup));
        feed.stamp(0, false, Departure::at(100));
        feed.send(1).unwrap();
        feed.begin(&window(Phase::Measure));
        feed.stamp(0, false, Departure::at(900));
        feed.send(1).unwrap();
        assert_eq!(feed.end(1000).waited_ns, Some(0));
    }
}
