//! One stream's BPF program: loading it, and the maps it keeps its counts in.

use std::mem::MaybeUninit;

use libbpf_rs::OpenObject;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use super::capture::{Capture, Captures};
use super::delivery::Delivery;
use super::wire::{AnalysedPhase, AttachMode};
use crate::api::bounds::MOST_STRANDS;
use crate::traffic::bpf::{MapValue, Single, with_libbpf_log};
use crate::traffic::lengths::MOST_LENGTHS;
use crate::traffic::strand::Strands;

pub(super) mod skeleton {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/sink.skel.rs"));
}

pub(super) use skeleton::types::histograms as Histograms;
pub(super) use skeleton::types::lane as Lane;
pub(super) use skeleton::types::state as State;
pub(super) use skeleton::{OpenSinkSkel, SinkSkel};

// SAFETY: laid out by the skeleton after the BPF program's own types: integers, without padding.
unsafe impl MapValue for State {}
unsafe impl MapValue for skeleton::types::memory {}
unsafe impl MapValue for Histograms {}

/// `enum phase` of frame.h; also the index of `State::frames`.
pub(super) const PHASE_PROBE: usize = 1;
pub(super) const PHASE_WARMUP: usize = 2;
pub(super) const PHASE_MEASURE: usize = 3;

/// Of `State::lanes`, that of the extra probes; the strands' are those before it.
pub(super) const LANE_EXTRA: usize = MOST_STRANDS as usize;

/// What a sink's program is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Build {
    pub mode: AttachMode,
    pub delivery: Delivery,
    pub capture: Capture,
}

/// Loads what an attachment of this mode runs, not what only the others do: the kernel may refuse
/// those. `adjust` has the last word on what is loaded.
pub(super) fn load<'a>(
    storage: &'a mut MaybeUninit<OpenObject>,
    build: Build,
    adjust: impl FnOnce(&mut OpenSinkSkel<'a>),
) -> anyhow::Result<SinkSkel<'a>> {
    let Build {
        mode,
        delivery,
        capture,
    } = build;
    with_libbpf_log("the kernel refuses the sink's BPF program", || {
        let mut open = skeleton::SinkSkelBuilder::default().open(storage)?;
        open.progs.sink_tc.set_autoload(mode == AttachMode::Tc);
        open.progs.sink_xdp.set_autoload(mode != AttachMode::Tc);
        let constants = open
            .maps
            .rodata_data
            .as_deref_mut()
            .expect("the program has constants");
        constants.serialised = u8::from(delivery == Delivery::Serialised);
        constants.capture_frames = capture.frames;
        constants.snap_bytes = capture.snap_bytes;
        open.maps
            .sink_captures
            .set_max_entries(capture.frames.max(1))?;
        open.maps
            .sink_captures
            .set_value_size(capture.value_bytes())?;
        adjust(&mut open);
        open.load()
    })
}

/// What the program counts in, and the trial that it counts for.
#[derive(Debug)]
pub(super) struct Memory {
    state: Single<State>,
    /// Of each lane.
    past: Vec<Single<skeleton::types::memory>>,
    histograms: Single<Histograms>,
    pub captures: Captures,
}

/// The frames to be counted; the others are refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Armed {
    pub trial: u32,
    pub stream: u8,
    pub phase: AnalysedPhase,
    /// One of these.
    pub frame_bytes: [u32; MOST_LENGTHS],
    pub strands: Strands,
    /// Of so many frames of a strand one is a probe, anywhere among them.
    pub probe_interval: u32,
    /// Whether the gaps between frames are filed.
    pub gaps: bool,
    /// How far the clock here is ahead of the source's.
    pub clock_ahead_ns: i64,
}

impl Memory {
    pub fn of(program: &SinkSkel<'_>) -> anyhow::Result<Self> {
        let lanes = 0..=LANE_EXTRA as u32;
        let past = lanes.map(|lane| Single::entry(&program.maps.sink_memory, lane));
        Ok(Self {
            state: Single::locked(&program.maps.sink_state)?,
            past: past.collect::<Result<_, _>>()?,
            histograms: Single::new(&program.maps.sink_histograms)?,
            captures: Captures::new(&program.maps.sink_captures)?,
        })
    }

    /// Forgets what was counted; all test frames are refused from here on.
    pub fn disarm(&self) -> anyhow::Result<()> {
        self.state.zero()
    }

    /// Counts for `armed` from here on. To be called on a disarmed program, when no run of it is
    /// left that began before: an unarmed program leaves all but its state alone.
    pub fn arm(&self, armed: Armed) -> anyhow::Result<()> {
        for lane in (0..armed.strands.get()).chain([LANE_EXTRA]) {
            self.past[lane].zero()?;
        }
        self.histograms.zero()?;
        let phase = match armed.phase {
            AnalysedPhase::Probe => PHASE_PROBE,
            AnalysedPhase::Measure => PHASE_MEASURE,
        };
        self.state.write(&State {
            trial: armed.trial,
            stream: armed.stream.into(),
            frame_bytes: armed.frame_bytes,
            strand_mask: armed.strands.get() as u32 - 1,
            strand_bits: armed.strands.bits(),
            probe_interval: armed.probe_interval,
            gaps: armed.gaps.into(),
            clock_ahead_ns: armed.clock_ahead_ns,
            analysed_phase: phase as u16,
            ..State::default()
        })
    }

    pub fn state(&self) -> anyhow::Result<State> {
        self.state.read()
    }

    /// Frames or pairs of frames in each bucket.
    pub fn histograms(&self) -> anyhow::Result<Histograms> {
        self.histograms.read()
    }
}

impl State {
    /// What was counted of each strand.
    pub(super) fn strands(&self) -> &[Lane] {
        &self.lanes[..=self.strand_mask as usize]
    }

    /// Frames of the analysed phase, without duplicates and extra probes.
    pub(super) fn received(&self) -> u64 {
        self.strands().iter().map(|lane| lane.received).sum()
    }
}
