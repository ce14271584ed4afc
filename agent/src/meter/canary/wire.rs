//! The messages of `canary.*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `canary.open`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CanaryOpenParams {
    /// The CPUs to work on.
    pub(super) cpus: Vec<usize>,
}

/// `canary.read`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct CanaryReadAnswer {
    /// What each CPU needed, in the order of `canary.open`.
    pub(super) readings: Vec<CanaryReading>,
}

/// How long a CPU needed for a step of each work, medians of some twenty pieces.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct CanaryReading {
    /// The number of the CPU.
    pub(super) cpu: usize,
    /// A multiplication that waits for the one before, in ns: the clock rate, and nobody else's work.
    pub(super) chain_ns: f64,
    /// Eight additions that need nothing of each other, in ns: longer where another thread has part of the core.
    pub(super) parallel_ns: f64,
    /// A load from memory that waits for the one before, past all caches, in ns.
    pub(super) load_ns: f64,
    /// A system call that does nothing, in ns.
    pub(super) system_call_ns: f64,
    /// A datagram through the loopback interface of a network namespace of the canary's own, sent and received, in ns.
    pub(super) frame_ns: f64,
}
