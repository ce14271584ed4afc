//! Params and replies of the `sink.*` methods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::bounds::{
    GREATEST_FRAME_BYTES, GREATEST_STREAM, LEAST_FRAME_BYTES, LONGEST_DRAIN_MS,
    MOST_CAPTURED_FRAMES, MOST_STRANDS, MOST_STREAMS,
};
use crate::traffic::lengths::Lengths;
use crate::traffic::strand::Strands;

/// `sink.open`: which interface receives which stream, one of each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SinkOpenParams {
    /// The streams and the interfaces that receive them.
    #[schemars(length(min = 1, max = MOST_STREAMS))]
    pub streams: Vec<StreamInterface>,
    /// Where the program of the sink is to be attached.
    pub attach: AttachRequest,
    /// How many of the first frames of a trial are kept, on each stream.
    #[serde(default)]
    #[schemars(range(max = MOST_CAPTURED_FRAMES))]
    pub capture_frames: u32,
    /// How many bytes are kept of each captured frame.
    #[serde(default = "default_snap_bytes")]
    #[schemars(range(min = LEAST_FRAME_BYTES, max = GREATEST_FRAME_BYTES))]
    pub snap_bytes: u32,
}

fn default_snap_bytes() -> u32 {
    128
}

/// A stream and the interface that receives it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamInterface {
    /// The number of the stream.
    #[schemars(range(max = GREATEST_STREAM))]
    pub stream: u8,
    /// The interface that receives the stream, and no other one.
    pub interface: String,
}

/// Where the sink's program is to be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AttachRequest {
    /// The first of native XDP, generic XDP and tc that the kernel grants.
    Auto,
    Native,
    Generic,
    Tc,
}

/// Where a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttachMode {
    XdpNative,
    XdpGeneric,
    Tc,
}

/// `sink.open`: how the sink is attached.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SinkOpenAnswer {
    /// The streams, one entry each.
    pub streams: Vec<AttachedStream>,
    /// What a frame costs.
    pub cost: SinkCost,
}

/// Time of the sink's program for a frame, in ns, beyond that of a program that drops it unseen.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SinkCost {
    /// A frame that is checked and counted.
    pub counted_ns: f64,
    /// The same, and the gap before it is filed.
    pub timed_ns: f64,
    /// A probe, whose delay is filed as well.
    pub probe_ns: f64,
}

/// A stream and the place of its sink.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AttachedStream {
    /// The number of the stream.
    pub stream: u8,
    /// Where the program of the sink is attached.
    pub attached: AttachMode,
    /// Why it is none of the modes before it; null where it is the first.
    pub fallback: Option<String>,
}

/// `sink.arm`: what is counted from here on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SinkArmParams {
    /// The number of the trial, which test frames and messages carry.
    pub trial: u32,
    /// The phase of the trial.
    pub phase: AnalysedPhase,
    /// One length of all frames, or those of a mix, in any order.
    pub frame_bytes: Lengths,
    /// Strands of each stream, whose order is taken apart: of n each has every n-th frame.
    #[serde(default)]
    pub strands: Strands,
    /// Of so many frames of a strand one is a probe, anywhere among them. Extra probes are all.
    #[serde(default = "every_frame")]
    #[schemars(range(min = 1))]
    pub probe_interval: u32,
    /// Whether the gaps between frames are filed. Without, only probes have their time taken, which costs less.
    #[serde(default = "yes")]
    pub gaps: bool,
    /// The streams whose source has a clock of its own.
    #[serde(default)]
    pub clocks: Vec<SourceClock>,
}

/// How far the clock here is ahead of that of a stream's source.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceClock {
    /// The number of the stream.
    pub stream: u8,
    /// How far the clock here is ahead, in ns.
    pub ahead_ns: i64,
}

fn every_frame() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// The phase whose frames are analysed; those of the others are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnalysedPhase {
    Probe,
    Measure,
}

/// `sink.collect`: wait until the streams are drained, then report.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SinkCollectParams {
    /// The streams to wait for, each once.
    pub expected: Vec<ExpectedStream>,
    /// The wait ends when nothing came for so long, in ms.
    pub quiet_ms: u64,
    /// The wait ends after so long in any case, in ms.
    #[schemars(range(max = LONGEST_DRAIN_MS))]
    pub limit_ms: u64,
}

/// A stream that is waited for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedStream {
    /// The number of the stream.
    pub stream: u8,
    /// Frames that were sent of each strand in the analysed phase, extra probes not among them.
    #[schemars(length(min = 1, max = MOST_STRANDS))]
    pub strand_frames: Vec<u64>,
}

/// What ended the drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// Every expected stream received all its frames.
    Complete,
    /// No test frame came for `quiet_ms`.
    Quiet,
    /// `limit_ms` passed.
    Limit,
    Aborted,
}

/// `sink.collect`: what the streams brought.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SinkCollectAnswer {
    /// How long the wait for the last of them took, in ms.
    pub drain_ms: f64,
    /// What ended the wait.
    pub ended: Ended,
    /// The streams, one entry each.
    pub streams: Vec<CollectedStream>,
}

/// One stream since `sink.arm`. Frame counts are of the main lane; extra probes stand in `probes`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectedStream {
    /// The number of the stream.
    pub stream: u8,
    /// The interface still runs our program.
    pub attached: bool,
    /// Arrivals in each phase, duplicates among them.
    pub phases: PhaseFrames,
    /// Frames of the analysed phase, without duplicates.
    pub received: u64,
    /// The bytes of the received frames, FCS left out.
    pub received_bytes: u64,
    /// Frames that came again; they are not among the received.
    pub duplicated: u64,
    /// RFC 4737 type-P-reordered: below the next expected sequence of the strand, and not a duplicate.
    pub reordered: u64,
    /// How far reordered frames were displaced.
    pub reordering: Reordering,
    /// Loss of frames, by periods.
    pub loss: SinkLoss,
    /// Longest run of consecutive sequences of a strand.
    pub longest_run: u64,
    /// CLOCK_MONOTONIC at the first arrival; null when there was none, and where gaps are not filed.
    pub first_ns: Option<u64>,
    /// The last arrival, likewise.
    pub last_ns: Option<u64>,
    /// Frames that entered no other count.
    pub refused: SinkRefused,
    /// Extra probes, which travel beside the load.
    pub probes: SinkProbes,
    /// One-way delay of the frames that were sent to measure it: of a paced load since they were due.
    pub latency: Durations,
}

/// How far reordered frames were displaced (RFC 4737, 4.2 and 5). Null where there were none.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reordering {
    /// The mean extent, in frames.
    pub extent_mean: Option<f64>,
    /// The greatest extent, in frames.
    pub extent_max: Option<u64>,
    /// Extents of 1024 or more, taken as 1024.
    pub extents_cut: u64,
    /// Frames that the three before them had all overtaken.
    pub displaced: u64,
}

/// Loss among the frames of each strand (RFC 3357): of those that were expected, else below the highest that came.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SinkLoss {
    /// Runs of consecutive lost frames.
    pub periods: u64,
    /// Frames of the longest; null where late frames have shortened some.
    pub longest: Option<u64>,
}

/// Frames by the phase they were sent in.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseFrames {
    /// Frames of the probe phase.
    pub probe: u64,
    /// Frames of the warm-up.
    pub warmup: u64,
    /// Frames of the measured phase.
    pub measure: u64,
}

/// Frames that entered no other count.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SinkRefused {
    /// A length that was not armed, or several frames merged into one.
    pub length: u64,
    /// Another trial, or no trial armed.
    pub trial: u64,
    /// A stream that does not belong to this interface.
    pub stream: u64,
    /// Frames that are no test frames; these are passed on to the kernel.
    pub foreign: u64,
}

/// Frames of the lane of extra probes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SinkProbes {
    /// Extra probes received, without duplicates.
    pub received: u64,
    /// Extra probes that came again.
    pub duplicated: u64,
}

/// `sink.histograms`: what one stream's frames tell of time, beside their delay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SinkHistogramsParams {
    /// The number of the stream.
    pub stream: u8,
}

/// `sink.histograms`: times of one stream.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SinkHistogramsAnswer {
    /// RFC 5481, 4.1: delay less that of the strand's probe before, where it is no less.
    pub ipdv_positive: Durations,
    /// The same where it is less, without its sign.
    pub ipdv_negative: Durations,
    /// Between one arrival and the next, duplicates among them; empty where gaps are not filed.
    pub gap: Durations,
    /// Delay of the same frames as `latency`, from their departure.
    pub since_departure: Durations,
    /// How late these departed, to a 2048th of it.
    pub lateness: Durations,
}

/// `sink.capture`: the first frames that came since `sink.arm`, other phases' left out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SinkCaptureParams {
    /// The number of the stream.
    pub stream: u8,
    /// How many frames are known already.
    pub first: u32,
}

/// `sink.capture`: captured frames.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SinkCaptureAnswer {
    /// How many frames there are in all.
    pub captured: u32,
    /// CLOCK_REALTIME less CLOCK_MONOTONIC, now.
    pub clock_offset_ns: i64,
    /// Frames from `first` on, as many as fit.
    pub frames: Vec<CapturedFrame>,
}

/// A frame as it arrived.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CapturedFrame {
    /// CLOCK_MONOTONIC at its arrival.
    pub time_ns: u64,
    /// The length of the frame, in bytes, FCS left out.
    pub frame_bytes: u32,
    /// Its first bytes, base64.
    pub bytes: String,
}

/// One-way delays, round trips, or other times. Null where there are too few samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Durations {
    /// How many there are.
    pub count: u64,
    /// The least, in ns.
    pub min_ns: Option<u64>,
    /// The mean, in ns.
    pub mean_ns: Option<f64>,
    /// The median, in ns.
    pub p50_ns: Option<u64>,
    /// The 90th percentile, in ns.
    pub p90_ns: Option<u64>,
    /// The 99th percentile, in ns.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile, in ns.
    pub p999_ns: Option<u64>,
    /// The greatest, in ns.
    pub max_ns: Option<u64>,
    /// HdrHistogram V2, base64.
    pub histogram: String,
}
