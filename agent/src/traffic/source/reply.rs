//! # What the `source.*` methods reply

use schemars::JsonSchema;
use serde::Serialize;

use super::load::{Punctuality, Tally};
use crate::cpu::ThreadTime;
use crate::traffic::frame::Phase;
use crate::traffic::mechanism::Name;

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
    /// Of the last phase; absent for a flood.
    #[serde(flatten)]
    pub(super) punctuality: Option<Punctuality>,
    /// The time of the sending thread in the last phase, without that of the probe lane; null where the kernel does not
    /// account for it, or sends by itself.
    pub(super) thread: Option<ThreadTime>,
    /// The processes that had the source's CPU in the last phase beside its own, the longest first, eight at most; null
    /// where the kernel does not tell.
    pub(super) others: Option<Vec<ProcessTime>>,
    /// The streams, one entry each.
    pub(super) streams: Vec<SentStream>,
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
    /// The phases, as far as the run came.
    pub(super) phases: Vec<SentPhase>,
}

impl SentStream {
    /// Of a stream that has sent nothing yet.
    pub(super) fn new(stream: u8) -> Self {
        Self {
            stream,
            phases: Vec::new(),
        }
    }
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
    #[serde(flatten)]
    pub(super) tally: Tally,
}
