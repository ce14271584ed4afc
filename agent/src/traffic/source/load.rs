//! # Loads: when frames are sent in a phase

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

use super::pauses::Pauses;
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::frame::Phase;
use crate::traffic::strand::Strand;

/// What one thread sends: frames at a given rate, or as fast as they go, or the probes beside a flood.
pub(super) trait Load: Send {
    /// Begins a phase, and moves the window to when it did where the kernel begins by itself.
    fn begin(&mut self, window: &mut Window) -> Result<(), Error>;

    /// Sends frames, within the window only, until it ends or `stop` is asked for.
    fn send(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error>;

    /// Ends the phase, and its window where the kernel ended it at another time; returns what was sent.
    fn end(&mut self, window: &mut Window) -> Result<Vec<Part>, Error>;

    /// How well departures in the last phase met their times; None where none were intended.
    fn punctuality(&self) -> Option<Punctuality> {
        None
    }
}

/// Whether a phase is to end before its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop<'a> {
    /// The run was aborted.
    abort: &'a AtomicBool,
    /// One of the phase's threads has ended.
    ended: &'a AtomicBool,
}

impl<'a> Stop<'a> {
    pub(super) fn on(abort: &'a AtomicBool, ended: &'a AtomicBool) -> Self {
        Self { abort, ended }
    }

    #[inline]
    pub(super) fn is_asked(self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.abort.load(Ordering::Relaxed)
    }
}

/// What was sent of a strand in a phase, or the probes of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The place of its stream among those of the source.
    pub(super) stream: usize,
    pub(super) strand: Strand,
    pub(super) tally: Tally,
}

/// A phase in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) phase: Phase,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

impl Window {
    /// Begins in `ahead`.
    pub(super) fn starting_in(ahead: Duration, phase: Phase, duration: Duration) -> Self {
        let start_ns = now_ns() + ahead.as_nanos() as u64;
        let end_ns = start_ns + duration.as_nanos() as u64;
        Self {
            phase,
            start_ns,
            end_ns,
        }
    }

    /// When it ended, seen from now: at its end, or before it where the phase was cut short.
    pub(super) fn ended_ns(&self) -> u64 {
        self.end_ns.min(now_ns())
    }

    /// Moves it, as long as it is, to begin then.
    pub(super) fn begin_at(&mut self, start_ns: u64) {
        self.end_ns = start_ns + (self.end_ns - self.start_ns);
        self.start_ns = start_ns;
    }
}

/// What a stream sent in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Tally {
    /// Frames offered to the interface, those it dropped included.
    pub(super) frames_sent: u64,
    /// Frames whose delay is taken: of a paced load among `frames_sent`, of a flood and of pktgen beside them.
    pub(super) probes_sent: u64,
    /// Probes that the interface dropped.
    pub(super) probes_refused: u64,
    /// Frames that the link had time for beside those of a flood: the source waited for room, or was late; null where the source
    /// keeps to no link's rate, and of a paced load.
    pub(super) unsent: Option<u64>,
    /// How often frames were handed over, one or a burst of them.
    pub(super) sends: u64,
    /// Most frames of one send.
    pub(super) longest_burst: u64,
    /// Frames that the interface dropped; null where the mechanism cannot tell.
    pub(super) send_errors: Option<u64>,
    /// How often there was no room for a frame; null where the mechanism cannot tell. The frame was sent later, unless the phase ended.
    pub(super) blocked: Option<u64>,
    /// How often such a wait began; null where the mechanism cannot tell.
    pub(super) waits: Option<u64>,
    /// How long frames waited for room in all, in ns, retries included, of each strand; null where the mechanism cannot tell.
    pub(super) waited_ns: Option<u64>,
    /// Just before the first frame was sent, CLOCK_MONOTONIC in ns; null where none was. Of pktgen, when it began.
    pub(super) first_ns: Option<u64>,
    /// Just before the last frame was sent, CLOCK_MONOTONIC in ns; null where none was. Of pktgen, when it ended.
    pub(super) last_ns: Option<u64>,
}

impl Tally {
    /// That of both together; what one of them does not know is the other's.
    pub(super) fn and(self, other: Self) -> Self {
        fn either<T>(one: Option<T>, other: Option<T>, both: impl Fn(T, T) -> T) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(both(one, other)),
                (one, other) => one.or(other),
            }
        }
        let sum = |one, other| either(one, other, u64::saturating_add);
        Self {
            frames_sent: self.frames_sent + other.frames_sent,
            probes_sent: self.probes_sent + other.probes_sent,
            probes_refused: self.probes_refused + other.probes_refused,
            unsent: sum(self.unsent, other.unsent),
            sends: self.sends + other.sends,
            longest_burst: self.longest_burst.max(other.longest_burst),
            send_errors: sum(self.send_errors, other.send_errors),
            blocked: sum(self.blocked, other.blocked),
            waits: sum(self.waits, other.waits),
            waited_ns: sum(self.waited_ns, other.waited_ns),
            first_ns: either(self.first_ns, other.first_ns, u64::min),
            last_ns: either(self.last_ns, other.last_ns, u64::max),
        }
    }
}

/// How well departures met their times.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct Punctuality {
    /// Actual minus intended times of departures, in ns.
    pub(super) lag_ns: Quantiles,
    /// How far the time from one departure of a strand to its next was from the intended gap, in ns.
    pub(super) gap_error_ns: Quantiles,
    /// When the source was not on its CPU, as far as it saw.
    pub(super) pauses: Pauses,
}

/// Quantiles of a time.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct Quantiles {
    /// The median, in ns.
    p50: u64,
    /// The 99th percentile, in ns.
    p99: u64,
    /// The greatest, in ns.
    max: u64,
}

/// Collects times, without allocating.
#[derive(Debug)]
pub(super) struct TimeHistogram(Histogram<u64>);

impl TimeHistogram {
    /// Two digits: coarse enough to stay in the first-level cache where most values lie.
    pub(super) fn new() -> Self {
        let minute_ns = 60_000_000_000;
        Self(Histogram::new_with_max(minute_ns, 2).expect("the bounds are valid"))
    }

    /// Forgets all, and touches all memory it will use.
    pub(super) fn reset(&mut self) {
        self.0.reset();
    }

    #[inline]
    pub(super) fn record(&mut self, time_ns: u64) {
        self.0.saturating_record(time_ns);
    }

    pub(super) fn quantiles(&self) -> Quantiles {
        Quantiles {
            p50: self.0.value_at_quantile(0.50),
            p99: self.0.value_at_quantile(0.99),
            max: self.0.max(),
        }
    }
}
