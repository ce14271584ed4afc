//! # What one flow brought

use schemars::JsonSchema;
use serde::Serialize;

use super::sequences::Sequences;
use crate::endpoint::record::{Phase, Piece};

/// Of the series.
pub(super) const STEP_NS: u64 = 100_000_000;

#[derive(Debug)]
pub(super) struct Flow {
    /// Of UDP, whose messages may come in any order or not at all.
    sequences: Option<Sequences>,
    messages: u64,
    bytes: u64,
    /// What came within the window, of whichever phase.
    window_bytes: u64,
    warmup_bytes: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    /// Bytes in each step since the window began.
    series: Vec<u64>,
    /// What the kernel lets the receive buffer hold; of a connection, at its end.
    pub(super) buffer_bytes: Option<usize>,
    is_connected: bool,
    /// None while it may go on.
    end: Option<End>,
}

/// How a flow of connected endpoints ended.
#[derive(Debug)]
pub(super) enum End {
    /// The sender said that nothing more comes.
    Told,
    Broken(String),
}

/// `receiver.collect`: what one flow brought.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ReceivedFlow {
    /// The number of the flow, counted from 0.
    flow: usize,
    /// Bytes that came in the window, over its length.
    ///
    /// The window is one of the clock, the same for flows that began together. By the phase that bytes were sent in, each flow's would
    /// begin and end as late as it waits in its queues: their sum was above the link's rate by what the last ones had alone.
    goodput_mbps: f64,
    /// Whole messages, duplicates left out.
    messages: u64,
    /// Bytes of messages, headers of records among them, duplicates left out.
    bytes: u64,
    /// Bytes of the warm-up, duplicates among them.
    warmup_bytes: u64,
    /// The first arrival, CLOCK_MONOTONIC in ns; null where nothing came.
    first_ns: Option<u64>,
    /// The last arrival, CLOCK_MONOTONIC in ns; null where nothing came.
    last_ns: Option<u64>,
    /// Messages that did not come; null of what repeats by itself.
    lost: Option<u64>,
    /// Messages that came again; null of what repeats by itself.
    duplicated: Option<u64>,
    /// Messages that came after a later one; null of what repeats by itself.
    reordered: Option<u64>,
    /// What its kernel lets the receive buffer hold, the kernel's own bookkeeping included: twice what is asked for. Of a connection at its
    /// end, as it has grown by then; null before that.
    receive_buffer_bytes: Option<usize>,
    /// Why it broke off; null where it did not.
    problem: Option<String>,
}

impl Flow {
    /// Room for `steps` is made at once.
    pub(super) fn new(is_datagram: bool, steps: usize) -> Self {
        Self {
            sequences: is_datagram.then(Sequences::new),
            messages: 0,
            bytes: 0,
            window_bytes: 0,
            warmup_bytes: 0,
            first_ns: None,
            last_ns: None,
            series: Vec::with_capacity(steps),
            buffer_bytes: None,
            is_connected: false,
            end: None,
        }
    }

    /// Has a connection be this flow; false where one is already, or was.
    pub(super) fn connect(&mut self) -> bool {
        !std::mem::replace(&mut self.is_connected, true)
    }

    /// Counts what came at `now_ns`; the window begins at `start_ns`.
    #[inline]
    pub(super) fn count(&mut self, piece: &Piece, now_ns: u64, start_ns: u64, window_ns: u64) {
        let bytes = piece.bytes as u64;
        match piece.record.phase {
            Phase::Warmup => self.warmup_bytes += bytes,
            Phase::Measure => {
                if let Some(sequences) = &mut self.sequences {
                    if !sequences.count(piece.record.sequence) {
                        return;
                    }
                }
                self.messages += u64::from(piece.is_last);
                self.bytes += bytes;
                self.first_ns.get_or_insert(now_ns);
                self.last_ns = Some(now_ns);
            }
        }
        let Some(since_ns) = now_ns.checked_sub(start_ns) else {
            return;
        };
        if since_ns < window_ns {
            self.window_bytes += bytes;
        }
        let step = (since_ns / STEP_NS) as usize;
        if step >= self.series.len() {
            self.series.resize(step + 1, 0);
        }
        self.series[step] += bytes;
    }

    pub(super) fn end(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    /// Whether nothing more is to come, of connected endpoints or after `expected` messages.
    pub(super) fn is_over(&self, expected: Option<u64>) -> bool {
        self.end.is_some() || expected.is_some_and(|expected| self.messages >= expected)
    }

    pub(super) fn series(&self) -> &[u64] {
        &self.series
    }

    pub(super) fn reply(&self, flow: usize, window_ns: u64, expected: Option<u64>) -> ReceivedFlow {
        let sequences = self.sequences.as_ref();
        ReceivedFlow {
            flow,
            goodput_mbps: self.window_bytes as f64 * 8e3 / window_ns as f64,
            messages: self.messages,
            bytes: self.bytes,
            warmup_bytes: self.warmup_bytes,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            lost: sequences.map(|sequences| sequences.lost(expected.unwrap_or(0))),
            duplicated: sequences.map(|sequences| sequences.duplicated),
            reordered: sequences.map(|sequences| sequences.reordered),
            receive_buffer_bytes: self.buffer_bytes,
            problem: match &self.end {
                Some(End::Broken(problem)) => Some(problem.clone()),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::record::Record;

    fn piece(phase: Phase, sequence: u64, bytes: usize) -> Piece {
        let record = Record {
            trial: 7,
            length: bytes,
            phase,
            flow: 0,
            sequence,
        };
        Piece {
            record,
            bytes,
            is_first: true,
            is_last: true,
        }
    }

    #[test]
    fn goodput_is_what_came_in_the_window_whenever_it_was_sent() {
        let second = 10 * STEP_NS;
        let mut flow = Flow::new(false, 1);
        for (phase, at_ns) in [
            (Phase::Warmup, 99),
            (Phase::Warmup, 100),
            (Phase::Measure, 150),
            (Phase::Measure, 99 + second),
            (Phase::Measure, 100 + second),
        ] {
            flow.count(&piece(phase, 0, 1000), at_ns, 100, second);
        }
        let reply = flow.reply(3, second, None);
        assert_eq!((reply.flow, reply.goodput_mbps), (3, 0.024));
        assert_eq!((reply.bytes, reply.warmup_bytes), (3000, 2000));
        assert_eq!(flow.series(), [2000, 0, 0, 0, 0, 0, 0, 0, 0, 1000, 1000]);
        assert_eq!(
            (reply.first_ns, reply.last_ns),
            (Some(150), Some(100 + second))
        );
        assert_eq!((reply.lost, reply.duplicated), (None, None));
    }

    #[test]
    fn duplicates_are_no_goodput() {
        let mut flow = Flow::new(true, 1);
        for sequence in [0, 2, 2, 1] {
            flow.count(&piece(Phase::Measure, sequence, 500), 5, 5, STEP_NS);
        }
        let reply = flow.reply(0, STEP_NS, Some(5));
        assert_eq!((reply.messages, reply.bytes), (3, 1500));
        let counts = (reply.lost, reply.duplicated, reply.reordered);
        assert_eq!(counts, (Some(2), Some(1), Some(1)));
        assert!(!flow.is_over(Some(4)) && flow.is_over(Some(3)) && !flow.is_over(None));
    }

    #[test]
    fn how_a_flow_ended_first_is_told() {
        let mut flow = Flow::new(false, 1);
        assert!(!flow.is_over(None));
        flow.end(End::Broken("Connection reset by peer".to_owned()));
        flow.end(End::Told);
        assert!(flow.is_over(None));
        let problem = flow.reply(0, STEP_NS, None).problem;
        assert_eq!(problem.as_deref(), Some("Connection reset by peer"));
    }
}
