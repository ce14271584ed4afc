//! The messages of `cpu.*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::bounds::{GREATEST_SAMPLE_HZ, LONGEST_WINDOW_S};
use crate::api::values::{Positive, UpTo};

/// `cpu.open`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CpuOpenParams {
    /// The CPUs to sample; null for all that are online.
    pub(super) cpus: Option<Vec<usize>>,
    /// Samples of each CPU a second.
    #[schemars(range(min = 1, max = GREATEST_SAMPLE_HZ))]
    pub(super) hz: u32,
}

/// `cpu.arm`: when to sample, from the arrival of this message on.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CpuArmParams {
    /// How long after the call it begins, in s.
    pub(super) delay_s: UpTo<LONGEST_WINDOW_S>,
    /// How long it lasts, in s.
    pub(super) duration_s: Positive<LONGEST_WINDOW_S>,
}

/// `cpu.read`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CpuReadParams {
    /// How many entries of `samples` to pass over: those of earlier replies.
    pub(super) first: usize,
}

/// What was sampled in the window.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct CpuReadAnswer {
    /// The length of the window, in ns.
    pub(super) window_ns: u64,
    /// The time between two samples of a CPU, in ns.
    pub(super) period_ns: u64,
    /// The sampled CPUs.
    pub(super) cpus: Vec<SampledCpu>,
    /// How many entries `samples` has in all answers together.
    pub(super) entries: usize,
    /// Entries from `first` on, one for each thread, CPU and context.
    pub(super) samples: Vec<ThreadSamples>,
}

/// Samples of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct SampledCpu {
    /// The number of the CPU.
    pub(super) cpu: u32,
    /// Samples that the window has room for.
    pub(super) expected: u64,
    /// Samples that were taken.
    pub(super) taken: u64,
    /// Samples that no entry of `samples` has: there was no room for it, or its thread is unknown.
    pub(super) unfiled: u64,
    /// How long after they were due all samples were taken, added up, in ns.
    pub(super) late_ns: u64,
    /// How long after it was due the latest sample was taken, in ns.
    pub(super) latest_ns: u64,
    /// Samples that were taken 0.1 ms or more after they were due: the CPU was away, or let nothing interrupt it.
    pub(super) paused: u64,
    /// Samples that were due in these pauses and never taken.
    pub(super) missed: u64,
}

/// Samples of one thread on one CPU in one context.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct ThreadSamples {
    /// The number of the CPU.
    pub(super) cpu: u32,
    /// The id of its process.
    pub(super) tgid: u32,
    /// 0 is the idle CPU.
    pub(super) tid: u32,
    /// Process id of the parent.
    pub(super) parent: u32,
    /// Whether it is a thread of the kernel's own.
    pub(super) kernel: bool,
    /// The name of the thread.
    pub(super) comm: String,
    /// Inode number in the cgroup2 hierarchy.
    pub(super) cgroup: u64,
    /// `task`, or what ran on top of it: `softirq`, `hardirq`.
    #[schemars(extend("enum" = ["task", "softirq", "hardirq"]))]
    pub(super) context: &'static str,
    /// How many samples found it there.
    pub(super) samples: u64,
}
