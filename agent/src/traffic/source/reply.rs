//! # What the `source.*` methods reply

use schemars::JsonSchema;
use serde::Serialize;

use super::load::{Part, Punctuality, Tally, Window};
use crate::cpu::ThreadTime;
use crate::traffic::frame::Phase;
use crate::traffic::mechanism::Name;
use crate::traffic::strand::Strands;

/// `source.open`: what the interfaces are fit for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SourceOpenAnswer {
    /// Mechanisms that every stream can use.
    pub(super) mechanisms: Vec<Name>,
    /// The mechanisms that some stream cannot use.
    pub(super) refused: Vec<MechanismRefusal>,
}

/// Why a mechanism is not used, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct MechanismRefusal {
    /// The mechanism.
    pub(super) mechanism: Name,
    /// The reason.
    pub(super) reason: String,
}

/// What was sent. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SourceRunAnswer {
    /// The start, CLOCK_MONOTONIC in ns.
    pub(super) start_ns: u64,
    /// The end, CLOCK_MONOTONIC in ns.
    pub(super) end_ns: u64,
    /// Whether the CPUs were kept out of deep sleep.
    pub(super) cpu_latency_held: bool,
    /// Whether it was aborted before its end.
    pub(super) aborted: bool,
    /// The mechanism that sent.
    pub(super) mechanism: Name,
    /// The threads that sent, one entry for each CPU of `source.open` that had a strand to send.
    pub(super) threads: Vec<SourceThread>,
    /// The streams, one entry each.
    pub(super) streams: Vec<SentStream>,
}

/// One of the source's threads in the last phase, without the probe lane.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SourceThread {
    /// The CPU that it stays on.
    pub(super) cpu: usize,
    /// How well its departures met their times; absent for a flood.
    #[serde(flatten)]
    pub(super) punctuality: Option<Punctuality>,
    /// Its time; null where the kernel does not account for it, or sends by itself.
    pub(super) time: Option<ThreadTime>,
    /// The processes that had its CPU beside the source's own, the longest first, eight at most; null where the kernel does
    /// not tell.
    pub(super) others: Option<Vec<ProcessTime>>,
}

/// What a process had of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct ProcessTime {
    /// Process id, as the machine numbers processes.
    pub(super) pid: u32,
    /// Whether it is a thread of the kernel's own.
    pub(super) kernel: bool,
    /// The name of the thread of it that had the CPU last.
    pub(super) comm: String,
    /// How long it had the CPU, in ns.
    pub(super) run_ns: u64,
}

/// A stream's phases, as far as the run came.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SentStream {
    /// The number of the stream.
    pub(super) stream: u8,
    /// The CPU that sends each of its strands.
    pub(super) cpus: Vec<usize>,
    /// The phases, as far as the run came.
    pub(super) phases: Vec<SentPhase>,
}

/// A phase of a stream, as far as it was sent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SentPhase {
    /// The phase of the trial.
    pub(super) phase: Phase,
    /// The start of the phase, CLOCK_MONOTONIC in ns.
    pub(super) start_ns: u64,
    /// The end of the phase, CLOCK_MONOTONIC in ns.
    pub(super) end_ns: u64,
    /// Frames of each strand, of `frames_sent`.
    pub(super) strand_frames: Vec<u64>,
    #[serde(flatten)]
    pub(super) tally: Tally,
}

impl SentPhase {
    /// One in which nothing was sent of so many strands.
    pub(super) fn empty(window: &Window, strands: Strands) -> Self {
        Self {
            phase: window.phase,
            start_ns: window.start_ns,
            end_ns: window.ended_ns(),
            strand_frames: vec![0; strands.get()],
            tally: Tally::default(),
        }
    }

    /// Adds what was sent of a strand, or beside it.
    pub(super) fn add(&mut self, part: &Part) {
        self.strand_frames[part.strand.place as usize] += part.tally.frames_sent;
        self.tally = self.tally.and(part.tally);
    }
}
