//! The BPF program on hand-made frames, by BPF_PROG_TEST_RUN.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Barrier;
use std::thread;

use libbpf_rs::ProgramInput;
use libbpf_rs::libbpf_sys::{bpf_prog_test_run_opts, bpf_test_run_opts};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use proptest::prelude::*;

use super::*;
use crate::traffic::sink::cost;
use crate::traffic::sink::delivery::Delivery;
use crate::traffic::sink::frame::FLAG_PROBE;
use crate::traffic::sink::histogram::bucket_middle_ns;
use crate::traffic::sink::program::skeleton::types::{__sk_buff, lane as Lane};
use crate::traffic::sink::program::*;
use crate::traffic::sink::wire::{AnalysedPhase, Mode};
use crate::traffic::testing::wait_until;

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
const TC_ACT_OK: u32 = 0;
const TC_ACT_SHOT: u32 = 2;

const ARMED: Armed = Armed {
    trial: TRIAL,
    stream: STREAM,
    phase: AnalysedPhase::Measure,
    frame_bytes: FRAME_BYTES as u32,
};

/// A loaded, armed and unattached sink.
struct Bench<'a> {
    program: &'a SinkSkel<'a>,
    memory: Memory,
    mode: Mode,
}

/// Runs `test` on the programs of each mode, without a lock and with one.
fn on_all_programs(test: impl Fn(&Bench<'_>)) {
    let programs = [
        (Mode::XdpNative, Delivery::Serialised),
        (Mode::XdpGeneric, Delivery::Concurrent),
        (Mode::Tc, Delivery::Concurrent),
    ];
    for (mode, delivery) in programs {
        let mut storage = MaybeUninit::uninit();
        let program =
            load(&mut storage, mode, delivery).expect("these tests run BPF programs and need root");
        let memory = Memory::of(&program).unwrap();
        memory.arm(ARMED).unwrap();
        test(&Bench {
            program: &program,
            memory,
            mode,
        });
    }
}

impl Bench<'_> {
    /// Whether the program drops the frame.
    fn drops(&self, frame: &[u8]) -> bool {
        let input = ProgramInput {
            data_in: Some(frame),
            ..Default::default()
        };
        match self.mode {
            Mode::Tc => match self
                .program
                .progs
                .sink_tc
                .test_run(input)
                .unwrap()
                .return_value
            {
                TC_ACT_SHOT => true,
                TC_ACT_OK => false,
                other => panic!("tc verdict {other}"),
            },
            _ => match self
                .program
                .progs
                .sink_xdp
                .test_run(input)
                .unwrap()
                .return_value
            {
                XDP_DROP => true,
                XDP_PASS => false,
                other => panic!("XDP verdict {other}"),
            },
        }
    }

    fn receive(&self, frame: TestFrame) {
        assert!(self.drops(&frame.to_bytes(FRAME_BYTES)));
    }

    fn receive_all(&self, sequences: impl IntoIterator<Item = u32>) -> Lane {
        for sequence in sequences {
            self.receive(frame(sequence));
        }
        self.main()
    }

    fn main(&self) -> Lane {
        self.memory.state().unwrap().lanes[LANE_MAIN]
    }

    fn delay_count(&self) -> u64 {
        self.memory.delays().unwrap().iter().sum()
    }
}

#[test]
fn frames_in_order_are_received() {
    on_all_programs(|sink| {
        let before = monotonic_ns();
        let main = sink.receive_all(0..10);
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (
                main.received,
                main.duplicated,
                main.reordered,
                main.longest_run
            ),
            (10, 0, 0, 10)
        );
        assert_eq!(state.frames, [0, 0, 0, 10]);
        assert!(before <= state.first_ns && state.first_ns < state.last_ns);
        assert!(state.last_ns <= monotonic_ns());
        assert_eq!(
            [
                state.refused_length,
                state.refused_trial,
                state.refused_stream,
                state.foreign
            ],
            [0; 4]
        );
    });
}

#[test]
fn frames_of_another_length_are_refused() {
    on_all_programs(|sink| {
        for length in [64, FRAME_BYTES - 1, FRAME_BYTES + 1, 1514] {
            assert!(sink.drops(&frame(0).to_bytes(length)));
        }
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (state.refused_length, state.frames, sink.main().received),
            (4, [0; 4], 0)
        );
    });
}

#[test]
fn frames_of_another_trial_are_refused() {
    on_all_programs(|sink| {
        sink.receive(TestFrame {
            trial: TRIAL + 1,
            ..frame(0)
        });
        sink.receive(TestFrame {
            trial: 0,
            ..frame(0)
        });
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (state.refused_trial, state.frames, sink.main().received),
            (2, [0; 4], 0)
        );
    });
}

#[test]
fn frames_of_another_stream_are_refused() {
    on_all_programs(|sink| {
        sink.receive(TestFrame {
            stream: STREAM + 1,
            ..frame(0)
        });
        sink.receive(TestFrame {
            stream: (STREAM - 1) | EXTRA_LANE,
            ..frame(0)
        });
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (state.refused_stream, state.frames, sink.main().received),
            (2, [0; 4], 0)
        );
    });
}

#[test]
fn an_unarmed_sink_refuses_even_trial_zero() {
    on_all_programs(|sink| {
        sink.memory.disarm().unwrap();
        sink.receive(TestFrame {
            trial: 0,
            stream: 0,
            ..frame(0)
        });
        let state = sink.memory.state().unwrap();
        assert_eq!((state.refused_trial, state.frames), (1, [0; 4]));
    });
}

#[test]
fn other_traffic_passes() {
    let changed = |offset: usize, value: u8| {
        let mut bytes = frame(0).to_bytes(FRAME_BYTES);
        bytes[offset] = value;
        bytes
    };
    let foreign = [
        ("ARP", changed(13, 0x06)),
        (
            "IPv6",
            [changed(12, 0x86)[..13].to_vec(), vec![0xdd; 60]].concat(),
        ),
        ("IP version 6 under the type of 4", changed(14, 0x65)),
        ("IP options", changed(14, 0x46)),
        ("TCP", changed(23, 6)),
        ("another magic", changed(45, 0)),
        ("phase 0", changed(50, 0)),
        ("phase 4", changed(50, 4)),
        ("phase 0 with the probe flag", changed(50, FLAG_PROBE)),
        (
            "a frame cut off before its end",
            frame(0).to_bytes(64)[..63].to_vec(),
        ),
    ];
    on_all_programs(|sink| {
        for (position, (what, bytes)) in foreign.iter().enumerate() {
            assert!(!sink.drops(bytes), "{what} is dropped");
            assert_eq!(
                sink.memory.state().unwrap().foreign,
                position as u64 + 1,
                "{what}"
            );
        }
        assert_eq!(sink.memory.state().unwrap().frames, [0; 4]);
    });
}

#[test]
fn super_packets_are_refused_by_their_length() {
    on_all_programs(|sink| {
        if sink.mode != Mode::Tc {
            return; // XDP sees single frames
        }
        let mut context = __sk_buff {
            gso_segs: 2,
            ..Default::default()
        };
        // SAFETY: a context is plain memory.
        let context = unsafe {
            std::slice::from_raw_parts_mut(
                std::ptr::from_mut(&mut context).cast::<u8>(),
                size_of::<__sk_buff>(),
            )
        };
        let bytes = frame(0).to_bytes(FRAME_BYTES);
        let input = ProgramInput {
            data_in: Some(&bytes),
            context_in: Some(context),
            ..Default::default()
        };
        assert_eq!(
            sink.program
                .progs
                .sink_tc
                .test_run(input)
                .unwrap()
                .return_value,
            TC_ACT_SHOT
        );
        assert_eq!(
            (
                sink.memory.state().unwrap().refused_length,
                sink.main().received
            ),
            (1, 0)
        );
    });
}

#[test]
fn other_phases_of_the_trial_are_only_counted() {
    on_all_programs(|sink| {
        for phase in [PHASE_PROBE, PHASE_WARMUP, PHASE_WARMUP] {
            sink.receive(TestFrame {
                phase: phase as u8 | FLAG_PROBE,
                ..frame(7)
            });
        }
        let state = sink.memory.state().unwrap();
        assert_eq!(state.frames, [0, 1, 2, 0]);
        assert_eq!(
            (
                sink.main().received,
                sink.main().duplicated,
                sink.delay_count()
            ),
            (0, 0, 0)
        );
        assert_eq!((state.first_ns, state.last_ns), (0, 0));
    });
}

#[test]
fn repeated_sequences_are_duplicates() {
    on_all_programs(|sink| {
        let main = sink.receive_all([0, 1, 1, 2, 0, 2, 3]);
        assert_eq!((main.received, main.duplicated, main.reordered), (4, 3, 0));
        assert_eq!(main.longest_run, 4, "duplicates do not break a run");
        assert_eq!(sink.memory.state().unwrap().frames[PHASE_MEASURE], 7);
    });
}

#[test]
fn late_sequences_are_reordered() {
    on_all_programs(|sink| {
        // RFC 4737, 4.2.4: 4 is late by one; the frames after it are in order again.
        let main = sink.receive_all([1, 2, 3, 5, 4, 6, 7]);
        assert_eq!((main.received, main.duplicated, main.reordered), (7, 0, 1));
    });
}

#[test]
fn one_early_frame_reorders_all_that_it_overtook() {
    on_all_programs(|sink| {
        let main = sink.receive_all([0, 5, 1, 2, 3, 4, 6]);
        assert_eq!((main.received, main.reordered, main.longest_run), (7, 4, 4));
    });
}

#[test]
fn loss_is_no_reordering_and_breaks_the_run() {
    on_all_programs(|sink| {
        let main = sink.receive_all((0..5).chain(6..9).chain(20..21));
        assert_eq!(
            (
                main.received,
                main.duplicated,
                main.reordered,
                main.longest_run
            ),
            (9, 0, 0, 5)
        );
    });
}

#[test]
fn a_duplicate_is_known_while_the_window_holds_it() {
    const WINDOW: u32 = 65536;
    on_all_programs(|sink| {
        sink.receive_all([0, WINDOW - 1, 0]);
        assert_eq!(sink.main().duplicated, 1);
        // The next frame takes the slot of sequence 0, and keeps it against a straggler.
        let main = sink.receive_all([WINDOW, 0, WINDOW]);
        assert_eq!((main.received, main.duplicated, main.reordered), (4, 2, 1));
    });
}

#[test]
fn extra_probes_have_a_sequence_of_their_own() {
    on_all_programs(|sink| {
        sink.receive_all([0, 1, 2]);
        let after_main = sink.memory.state().unwrap();
        for sequence in [0, 2, 2, 1] {
            sink.receive(probe(sequence));
        }
        let state = sink.memory.state().unwrap();
        let extra = state.lanes[LANE_EXTRA];
        assert_eq!(
            (extra.received, extra.duplicated, extra.reordered),
            (3, 1, 1)
        );
        assert_eq!(
            (
                sink.main().received,
                sink.main().duplicated,
                sink.main().longest_run
            ),
            (3, 0, 3)
        );
        assert_eq!(state.frames, after_main.frames);
        assert_eq!(
            state.last_ns, after_main.last_ns,
            "extra probes do not stretch the throughput's window"
        );
        assert_eq!(sink.delay_count(), 3, "of extra probes without duplicates");
    });
}

#[test]
fn delays_are_taken_from_flagged_frames() {
    on_all_programs(|sink| {
        let flagged = PHASE_MEASURE as u8 | FLAG_PROBE;
        sink.receive_all(0..5);
        assert_eq!(sink.delay_count(), 0);
        let sent = monotonic_ns() - 1_000_000_000;
        sink.receive(TestFrame {
            phase: flagged,
            time_ns: sent,
            ..frame(5)
        });
        let delay_ns = sink.memory.state().unwrap().last_ns - sent;
        sink.receive(TestFrame {
            phase: flagged,
            ..frame(5)
        });

        let delays = sink.memory.delays().unwrap();
        let filed: Vec<usize> = (0..delays.len())
            .filter(|&bucket| delays[bucket] > 0)
            .collect();
        assert_eq!((filed.len(), sink.delay_count()), (1, 1));
        let error_ns = bucket_middle_ns(filed[0]).abs_diff(delay_ns);
        assert!(
            (error_ns as f64) < 0.004 * delay_ns as f64,
            "{delay_ns} ns is filed {error_ns} ns off"
        );
    });
}

#[test]
fn every_frame_of_the_probe_phase_gives_a_delay() {
    on_all_programs(|sink| {
        sink.memory
            .arm(Armed {
                phase: AnalysedPhase::Probe,
                ..ARMED
            })
            .unwrap();
        for sequence in 0..200 {
            sink.receive(TestFrame {
                phase: PHASE_PROBE as u8,
                ..frame(sequence)
            });
        }
        assert_eq!((sink.main().longest_run, sink.delay_count()), (200, 200));
    });
}

#[test]
fn a_send_time_in_the_future_is_no_delay() {
    on_all_programs(|sink| {
        let phase = PHASE_MEASURE as u8 | FLAG_PROBE;
        let time_ns = monotonic_ns() + 1_000_000_000;
        sink.receive(TestFrame {
            phase,
            time_ns,
            ..frame(0)
        });
        assert_eq!(sink.memory.delays().unwrap()[0], 1);
    });
}

#[test]
fn arming_forgets_everything() {
    on_all_programs(|sink| {
        sink.receive(TestFrame {
            phase: PHASE_MEASURE as u8 | FLAG_PROBE,
            ..frame(3)
        });
        sink.receive(TestFrame {
            trial: 0,
            ..frame(3)
        });
        sink.memory.disarm().unwrap();
        sink.memory.arm(ARMED).unwrap();
        assert_eq!(sink.delay_count(), 0);
        let main = sink.receive_all([3]);
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (main.received, main.duplicated, state.refused_trial),
            (1, 0, 0)
        );
    });
}

#[test]
fn two_cpus_at_once_lose_no_count() {
    const FRAMES: u32 = 200_000;
    let mut storage = MaybeUninit::uninit();
    let program = load(&mut storage, Mode::XdpGeneric, Delivery::Concurrent).unwrap();
    let memory = Memory::of(&program).unwrap();
    let numbering = program.progs.sink_cost.as_fd();
    let start = Barrier::new(2);
    let deliver = |cpu: usize, first: u32| {
        let mut cpus = CpuSet::new();
        cpus.set(cpu).unwrap();
        sched_setaffinity(Pid::from_raw(0), &cpus).expect("this test needs CPUs 0 and 1");
        let flagged = TestFrame {
            phase: PHASE_MEASURE as u8 | FLAG_PROBE,
            ..frame(first)
        };
        start.wait();
        run_repeatedly(numbering, &flagged.to_bytes(FRAME_BYTES), FRAMES)
    };
    let uninterrupted = || {
        memory.disarm().unwrap();
        memory.arm(ARMED).unwrap();
        thread::scope(|scope| {
            let other = scope.spawn(|| deliver(1, FRAMES));
            [
                scope.spawn(|| deliver(0, 0)).join().unwrap(),
                other.join().unwrap(),
            ]
            .iter()
            .all(|completed| *completed)
        })
    };
    wait_until(uninterrupted);
    let main = memory.state().unwrap().lanes[LANE_MAIN];
    assert_eq!((main.received, main.duplicated), (2 * u64::from(FRAMES), 0));
    assert_eq!(memory.delays().unwrap().iter().sum::<u64>(), main.received);
}

/// BPF_PROG_TEST_RUN through a descriptor, which can cross threads. False when a signal cut it
/// short.
fn run_repeatedly(program: BorrowedFd<'_>, frame: &[u8], times: u32) -> bool {
    let mut options = bpf_test_run_opts {
        sz: size_of::<bpf_test_run_opts>() as _,
        data_in: frame.as_ptr().cast(),
        data_size_in: frame.len() as u32,
        repeat: times as i32,
        ..Default::default()
    };
    // SAFETY: the options and the frame outlive the call.
    match unsafe { bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) } {
        0 => true,
        result if result == -libc::EINTR => false,
        result => panic!("{}", std::io::Error::from_raw_os_error(-result)),
    }
}

#[test]
fn the_cost_is_measured_and_leaves_nothing_behind() {
    on_all_programs(|sink| {
        sink.memory.disarm().unwrap();
        let cost_ns = cost::ns_per_frame(sink.program, &sink.memory).unwrap();
        assert!((1.0..5_000.0).contains(&cost_ns), "{cost_ns} ns");
        assert_eq!(sink.memory.state().unwrap().frames, [0; 4]);
        sink.receive(TestFrame {
            trial: 1,
            stream: 0,
            ..frame(0)
        });
        assert_eq!(sink.memory.state().unwrap().refused_trial, 1);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Any order of arrival with loss and duplicates, against definitions written the long way.
    #[test]
    fn any_arrival_order_is_judged_by_the_definitions(
        sequences in prop::collection::vec(0..60u32, 1..80)
    ) {
        let mut seen = BTreeSet::new();
        let unique: Vec<u32> = sequences.iter().copied().filter(|s| seen.insert(*s)).collect();
        let overtaken = |i: &usize| unique[..*i].iter().any(|earlier| *earlier > unique[*i]);
        let reordered = (0..unique.len()).filter(overtaken).count();
        let longest_run = unique.chunk_by(|a, b| a + 1 == *b).map(<[u32]>::len).max().unwrap();
        on_all_programs(|sink| {
            let main = sink.receive_all(sequences.iter().copied());
            assert_eq!(main.received, unique.len() as u64);
            assert_eq!(main.duplicated, (sequences.len() - unique.len()) as u64);
            assert_eq!(main.reordered, reordered as u64);
            assert_eq!(main.longest_run, longest_run as u64);
        });
    }
}
