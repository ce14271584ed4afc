//! Params and replies of the `source.*` methods.

use serde::{Deserialize, Serialize};

use crate::traffic::clock::ThreadTime;
use crate::traffic::frame::{Addresses, Phase};

/// `source.open`: the CPU that the source's thread is bound to, and what it sends from.
#[derive(Clone, Debug, Deserialize)]
pub struct OpenParams {
    pub cpu: usize,
    pub streams: Vec<StreamParams>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct StreamParams {
    /// 0 to 127.
    pub stream: u8,
    pub interface: String,
    #[serde(flatten)]
    pub addresses: Addresses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MechanismName {
    Paced,
    Flood,
}

/// `source.run`: one trial's traffic.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunParams {
    pub trial: u32,
    pub frame_bytes: usize,
    pub mechanism: MechanismName,
    /// Frames a second of each stream; null for a flood.
    pub intended_fps: Option<f64>,
    /// Paced: about how many of those carry the probe flag. Flood: extra frames a second and stream.
    pub probe_fps: f64,
    pub phases: Vec<PhaseParams>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseParams {
    pub phase: Phase,
    pub duration_s: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct RunReply {
    pub start_ns: u64,
    pub end_ns: u64,
    pub cpu_latency_held: bool,
    pub aborted: bool,
    /// Actual less intended departure in the last phase, paced only.
    pub lag_ns: Option<Lag>,
    pub thread: ThreadTime,
    pub streams: Vec<StreamReply>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Lag {
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct StreamReply {
    pub stream: u8,
    pub phases: Vec<PhaseReply>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PhaseReply {
    pub phase: Phase,
    #[serde(flatten)]
    pub counts: Counts,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// What became of one stream's frames in one phase.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counts {
    /// Handed to the interface, those of `send_errors` included: it was offered them and dropped them there.
    pub frames_sent: u64,
    /// Frames of the extra probe lane.
    pub probes_sent: u64,
    /// Refused for good (ENOBUFS: the far ring is full and nothing holds the sender back).
    pub send_errors: u64,
    /// Times that the socket had no room: flow control.
    pub blocked: u64,
    /// Of the first and last frame sent; 0 when there was none.
    pub first_ns: u64,
    pub last_ns: u64,
}
