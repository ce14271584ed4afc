//! The BPF program on hand-made frames, by BPF_PROG_TEST_RUN.

use std::mem::{MaybeUninit, offset_of};

use libbpf_rs::{ProgramInput, ProgramOutput};

use super::*;
use crate::traffic::lengths::MOST_LENGTHS;
use crate::traffic::sink::capture::Capture;
use crate::traffic::sink::delivery::Delivery;
use crate::traffic::sink::program::skeleton::types::__sk_buff;
use crate::traffic::sink::program::*;
use crate::traffic::sink::wire::{AnalysedPhase, AttachMode};
use crate::traffic::strand::Strands;

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
const TC_ACT_OK: u32 = 0;
pub(super) const TC_ACT_SHOT: u32 = 2;

pub(super) const ARMED: Armed = Armed {
    trial: TRIAL,
    stream: STREAM,
    phase: AnalysedPhase::Measure,
    frame_bytes: [FRAME_BYTES as u32; MOST_LENGTHS],
    strands: Strands::ONE,
    probe_interval: 1,
    gaps: true,
    clock_ahead_ns: 0,
};

pub(super) const NO_CAPTURE: Capture = Capture {
    frames: 0,
    snap_bytes: 128,
};

/// A loaded, armed and unattached sink.
pub(super) struct Bench<'a> {
    pub program: &'a SinkSkel<'a>,
    pub memory: Memory,
    pub mode: AttachMode,
}

/// Runs `test` on the programs of each mode, without a lock and with one.
pub(super) fn on_all_programs(test: impl Fn(&Bench<'_>)) {
    on_capturing_programs(NO_CAPTURE, test);
}

pub(super) fn on_capturing_programs(capture: Capture, test: impl Fn(&Bench<'_>)) {
    let programs = [
        (AttachMode::XdpNative, Delivery::Serialised),
        (AttachMode::XdpGeneric, Delivery::Concurrent),
        (AttachMode::Tc, Delivery::Concurrent),
    ];
    for (mode, delivery) in programs {
        let mut storage = MaybeUninit::uninit();
        let build = Build {
            mode,
            delivery,
            capture,
        };
        let program =
            load(&mut storage, build, |_| ()).expect("these tests run BPF programs and need root");
        let memory = Memory::of(&program).unwrap();
        memory.arm(ARMED).unwrap();
        test(&Bench {
            program: &program,
            memory,
            mode,
        });
    }
}

/// What tells the tc program that its packet is two frames that were merged.
pub(super) fn super_packet_context() -> [u8; size_of::<__sk_buff>()] {
    let mut context = [0; size_of::<__sk_buff>()];
    context[offset_of!(__sk_buff, gso_segs)..][..4].copy_from_slice(&2u32.to_ne_bytes());
    context
}

impl Bench<'_> {
    /// Whether the program drops the frame.
    pub fn drops(&self, frame: &[u8]) -> bool {
        let input = ProgramInput {
            data_in: Some(frame),
            ..Default::default()
        };
        let verdict = |output: libbpf_rs::Result<ProgramOutput<'_>>| output.unwrap().return_value;
        let (verdict, drop, pass) = match self.mode {
            AttachMode::Tc => (
                verdict(self.program.progs.sink_tc.test_run(input)),
                TC_ACT_SHOT,
                TC_ACT_OK,
            ),
            _ => (
                verdict(self.program.progs.sink_xdp.test_run(input)),
                XDP_DROP,
                XDP_PASS,
            ),
        };
        assert!(
            verdict == drop || verdict == pass,
            "{:?} verdict {verdict}",
            self.mode
        );
        verdict == drop
    }

    pub fn receive(&self, frame: TestFrame) {
        assert!(self.drops(&frame.to_bytes(FRAME_BYTES)));
    }

    pub fn receive_all(&self, sequences: impl IntoIterator<Item = u32>) -> Lane {
        for sequence in sequences {
            self.receive(frame(sequence));
        }
        self.main()
    }

    pub fn main(&self) -> Lane {
        self.memory.state().unwrap().strands()[0]
    }

    pub fn delay_count(&self) -> u64 {
        self.memory.histograms().unwrap().delay.buckets.iter().sum()
    }
}
