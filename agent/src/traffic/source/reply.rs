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
    pub(super) refused: Vec<MechanismRefusal>,
}

/// Why a mechanism is not used, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct MechanismRefusal {
    pub(super) mechanism: Name,
    pub(super) reason: String,
}

/// What was sent. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SourceRunAnswer {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Whether the CPUs were kept out of deep sleep.
    pub(super) cpu_latency_held: bool,
    pub(super) aborted: bool,
    pub(super) mechanism: Name,
    /// Of the last phase; absent for a flood.
    #[serde(flatten)]
    pub(super) punctuality: Option<Punctuality>,
    /// Of the sending thread in the last phase, without the probe lane's. Null where the kernel does not account
    /// for it, or sends by itself.
    pub(super) thread: Option<ThreadTime>,
    pub(super) streams: Vec<SentStream>,
}

/// A stream's phases, as far as the run came.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SentStream {
    pub(super) stream: u8,
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

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SentPhase {
    pub(super) phase: Phase,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    #[serde(flatten)]
    pub(super) tally: Tally,
}
