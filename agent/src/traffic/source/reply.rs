//! # What `source.run` replies

use serde::Serialize;

use super::mechanism::{Lag, Tally};
use super::stream::Stream;
use crate::cpu::ThreadTime;
use crate::traffic::frame::Phase;

/// What was sent. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunReply {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Whether the CPUs were kept out of deep sleep.
    pub(super) cpu_latency_held: bool,
    pub(super) aborted: bool,
    /// Of the last phase; null for a flood.
    pub(super) lag_ns: Option<Lag>,
    /// Of the sending thread, without the probe lane's. Null where the kernel does not account for it.
    pub(super) thread: Option<ThreadTime>,
    pub(super) streams: Vec<StreamReply>,
}

/// A stream's phases, as far as the run came.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StreamReply {
    pub(super) stream: u8,
    pub(super) phases: Vec<PhaseReply>,
}

impl StreamReply {
    /// Of a stream that has sent nothing yet.
    pub(super) fn of(stream: &Stream) -> Self {
        Self {
            stream: stream.number(),
            phases: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct PhaseReply {
    pub(super) phase: Phase,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    #[serde(flatten)]
    pub(super) tally: Tally,
}
