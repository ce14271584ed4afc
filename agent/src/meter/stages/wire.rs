//! The messages of `stages.*`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hook::Hook;
use crate::api::bounds::{
    GREATEST_SAMPLE_EVERY, LONGEST_STAGE_NAME, LONGEST_WINDOW_S, MOST_PACKETS, MOST_TRAIL_POINTS,
    MOST_TRAILS,
};
use crate::api::values::{Positive, UpTo};
use crate::traffic::sink::wire::Durations;

/// `stages.open`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StagesOpenParams {
    /// The trails to watch.
    #[schemars(length(min = 1, max = MOST_TRAILS))]
    pub(super) trails: Vec<StagesTrail>,
    /// One frame in so many is followed, the same at all points.
    #[serde(default = "default_sample_every")]
    #[schemars(range(min = 1, max = GREATEST_SAMPLE_EVERY))]
    pub(super) sample_every: u32,
    /// What tells one frame from another.
    pub(super) follow: Follow,
    /// How many packets' times are kept singly: those that go a whole trail first.
    #[serde(default)]
    #[schemars(range(max = MOST_PACKETS))]
    pub(super) packets: u32,
}

/// Takes less than 3% of a gigabit link's rate in frames of 1500 bytes (`bench/stage_cost.py`).
fn default_sample_every() -> u32 {
    64
}

/// A way that frames go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StagesTrail {
    /// The name of the trail.
    #[schemars(length(min = 1, max = LONGEST_STAGE_NAME))]
    pub(super) name: String,
    /// The points that frames pass, in their order.
    #[schemars(length(min = 2, max = MOST_TRAIL_POINTS))]
    pub(super) points: Vec<StagesPoint>,
    /// What lies between one point and the next: one fewer than points.
    #[schemars(inner(length(min = 1, max = LONGEST_STAGE_NAME)))]
    pub(super) stages: Vec<String>,
}

/// A hook at an interface.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StagesPoint {
    /// The hook.
    pub(super) hook: Hook,
    /// Path of the interface's network namespace; null for the agent's own.
    pub(super) netns: Option<PathBuf>,
    /// The name of the interface.
    pub(super) interface: String,
}

/// What tells one frame from another.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Follow {
    /// The stamp of a test frame that is to be measured; others are not followed.
    Stamp,
    /// The fields of its headers that no hop changes.
    Headers,
}

/// `stages.probe`, `stages.open`: what the kernel lets us watch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct StagesProbeAnswer {
    /// How the programs are attached.
    pub(super) attach: &'static str,
    /// The hooks.
    pub(super) hooks: Vec<HookState>,
}

/// A hook, and whether this kernel lets the agent watch it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct HookState {
    /// The hook.
    pub(super) hook: Hook,
    /// The tracepoints of the kernel that the hook watches.
    pub(super) tracepoints: &'static [&'static str],
    /// Why the hook cannot be watched; null where it can.
    pub(super) missing: Option<String>,
}

/// `stages.arm`: frames are followed whose first point falls into the window, from the arrival of this message on.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StagesArmParams {
    /// How long after the call it begins, in s.
    pub(super) delay_s: UpTo<LONGEST_WINDOW_S>,
    /// How long it lasts, in s.
    pub(super) duration_s: Positive<LONGEST_WINDOW_S>,
}

/// `stages.collect`: what one trail's frames have told since the window began.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StagesCollectParams {
    /// The index of the trail in the `trails` of `stages.open`.
    pub(super) trail: usize,
    /// How many stages to pass over: those of earlier replies.
    pub(super) first: usize,
}

/// `stages.collect`: the delays of one trail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct StagesCollectAnswer {
    /// The name of the trail.
    pub(super) name: String,
    /// Frames of all trails.
    #[serde(flatten)]
    pub(super) frames: FollowedFrames,
    /// What watching costs at each hook.
    pub(super) hooks: Vec<HookCost>,
    /// Interfaces that are gone; their points have fallen silent.
    pub(super) gone: Vec<String>,
    /// The points of the trail.
    pub(super) points: Vec<PointFrames>,
    /// Delays from the trail's first point to its last.
    pub(super) total: Delays,
    /// The stages of the trail from `first` on.
    pub(super) stages: Vec<StageDelays>,
}

/// What became of the followed frames of all trails: where trails share their first point, a frame is of none yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct FollowedFrames {
    /// Frames that were followed.
    pub(super) followed: u64,
    /// Frames that went at least one whole trail.
    pub(super) attributed: u64,
    /// Frames that did not: dropped, gone another way, like another frame under way at the time, or under way still.
    pub(super) unattributed: u64,
    /// Frames whose place in the table another frame took within a second of their last point.
    pub(super) lost_events: u64,
}

/// What watching at one hook takes, at whatever interface.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct HookCost {
    /// The hook.
    pub(super) hook: Hook,
    /// How often the hook was met.
    pub(super) hits: u64,
    /// The mean time of the hits that were timed, every 64th of a CPU, in ns; null where none was.
    pub(super) ns: Option<f64>,
}

/// Frames at one point of a trail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct PointFrames {
    /// The hook.
    pub(super) hook: Hook,
    /// The name of the interface.
    pub(super) interface: String,
    /// Followed frames that passed it.
    pub(super) frames: u64,
}

/// The delays of one stage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct StageDelays {
    /// The name of the stage.
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) delays: Delays,
}

/// Delays of frames between two points.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Delays {
    /// The exact sum of the delays, in ns; the sums of the stages of a trail add up to that of its total.
    pub(super) sum_ns: u64,
    #[serde(flatten)]
    pub(super) durations: Durations,
}

/// `stages.packets`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StagesPacketsParams {
    /// How many packets to pass over: those of earlier replies.
    pub(super) first: u32,
}

/// `stages.packets`: times of single packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct StagesPacketsAnswer {
    /// How many packets there are in all.
    pub(super) kept: u32,
    /// Packets from `first` on.
    pub(super) packets: Vec<FollowedPacket>,
}

/// A packet that went a whole trail.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct FollowedPacket {
    /// The index of the trail in the `trails` of `stages.open`.
    pub(super) trail: u32,
    /// What tells the packet from others, in hexadecimal.
    pub(super) identity: String,
    /// When the packet passed each point of the trail, CLOCK_MONOTONIC in ns.
    pub(super) at_ns: Vec<u64>,
}
