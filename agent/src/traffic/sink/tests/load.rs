//! The program under load: from two CPUs at once, and what it costs.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Barrier;
use std::thread;

use libbpf_rs::libbpf_sys::{bpf_prog_test_run_opts, bpf_test_run_opts};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::bench::*;
use super::*;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::sink::cost;
use crate::traffic::sink::delivery::Delivery;
use crate::traffic::sink::program::{Build, Memory, load};
use crate::traffic::sink::wire::AttachMode;
use crate::traffic::testing::wait_until;

#[test]
#[ignore = "needs root"]
fn two_cpus_at_once_lose_no_count() {
    const FRAMES: u32 = 200_000;
    let mut storage = MaybeUninit::uninit();
    let build = Build {
        mode: AttachMode::XdpGeneric,
        delivery: Delivery::Concurrent,
        capture: NO_CAPTURE,
    };
    let program = load(&mut storage, build, |_| ()).unwrap();
    let memory = Memory::of(&program).unwrap();
    let numbering = program.progs.sink_cost.as_fd();
    let start = Barrier::new(2);
    let deliver = |cpu: usize, first: u32| {
        let mut cpus = CpuSet::new();
        cpus.set(cpu).unwrap();
        sched_setaffinity(Pid::from_raw(0), &cpus).expect("this test needs CPUs 0 and 1");
        let flagged = TestFrame {
            phase: PHASE_MEASURE as u8 | PHASE_FLAG_PROBE,
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
    let main = memory.state().unwrap().strands()[0];
    assert_eq!((main.received, main.duplicated), (2 * u64::from(FRAMES), 0));
    let histograms = memory.histograms().unwrap();
    let filed = |buckets: &[u64]| buckets.iter().sum::<u64>();
    assert_eq!(filed(&histograms.delay.buckets), main.received);
    assert_eq!(filed(&histograms.gap.buckets), main.received - 1);
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
#[ignore = "needs root"]
fn the_cost_is_measured_and_leaves_nothing_behind() {
    on_all_programs(|sink| {
        sink.memory.disarm().unwrap();
        let cost = cost::measure(sink.program, &sink.memory).unwrap();
        for cost_ns in [cost.counted_ns, cost.timed_ns, cost.probe_ns] {
            assert!((1.0..5_000.0).contains(&cost_ns), "{cost:?}");
        }
        assert_eq!(sink.memory.state().unwrap().frames, [0; 4]);
        sink.receive(TestFrame {
            trial: 1,
            stream: 0,
            ..frame(0)
        });
        assert_eq!(sink.memory.state().unwrap().refused_trial, 1);
    });
}
