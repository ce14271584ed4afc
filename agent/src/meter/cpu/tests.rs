//! Loads of known kind, found by the meter; these tests run BPF programs and need root.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use libbpf_rs::query::ProgInfoIter;
use nix::unistd::gettid;

use serde_json::{Value, json};

use super::*;
use crate::api::params::read_value;
use crate::cpu::{ThreadTime, pin_this_thread};
use crate::traffic::clock::now_ns;
use crate::traffic::testing::{Sender, in_namespace, test_frame};

const HZ: u32 = 997;
const PERIOD_NS: u64 = 1_000_000_000 / HZ as u64;
const WINDOW_S: f64 = 0.6;
/// Of the window: far beyond what chance or a late start explain, far below what would be a mistake.
const TOLERANCE: f64 = 0.08;

fn open(params: Value) -> Result<Cpu, Error> {
    Cpu::open(&read_value(params)?)
}

fn opened() -> Cpu {
    open(json!({"cpus": null, "hz": HZ})).unwrap()
}

fn arm(meter: &Cpu) {
    let params = json!({"delay_s": 0, "duration_s": WINDOW_S});
    meter.arm(&read_value(params).unwrap()).unwrap();
}

/// All replies as one, after the window's end.
fn read(meter: &Cpu) -> CpuReadAnswer {
    let mut all = loop {
        match meter.read(&CpuReadParams { first: 0 }) {
            Ok(reply) => break reply,
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    };
    while all.samples.len() < all.entries {
        let first = all.samples.len();
        let next = meter.read(&CpuReadParams { first }).unwrap();
        assert_ne!(next.samples.len(), 0);
        all.samples.extend(next.samples);
    }
    all
}

/// What this thread has of the window, in one context or in all.
fn share_of_this_thread(reply: &CpuReadAnswer, context: Option<&str>) -> f64 {
    let own = gettid().as_raw() as u32;
    let of_own = reply.samples.iter().filter(|entry| entry.tid == own);
    let in_context = of_own.filter(|entry| context.is_none_or(|wanted| entry.context == wanted));
    let samples: u64 = in_context.map(|entry| entry.samples).sum();
    samples as f64 * reply.period_ns as f64 / reply.window_ns as f64
}

/// Does `act` again and again through a window; also the share of it that the scheduler says this thread ran.
fn sampled(meter: &Cpu, mut act: impl FnMut()) -> (CpuReadAnswer, f64) {
    arm(meter);
    let (begun, earlier) = (now_ns(), ThreadTime::of_this_thread().unwrap());
    while now_ns() < begun + (WINDOW_S * 1e9) as u64 {
        act();
    }
    let ran = ThreadTime::of_this_thread().unwrap().since(earlier);
    let share = ran.run_ns as f64 / (now_ns() - begun) as f64;
    (read(meter), share)
}

#[test]
#[ignore = "needs root"]
fn a_thread_has_the_time_that_the_scheduler_gave_it() {
    pin_this_thread(*online().unwrap().last().unwrap()).unwrap();
    let meter = opened();
    let (reply, share) = sampled(&meter, || {
        black_box(0);
    });
    let found = share_of_this_thread(&reply, None);
    assert!((found - share).abs() < TOLERANCE, "{found} of {share}");
    let own = gettid().as_raw() as u32;
    let entry = reply.samples.iter().find(|entry| entry.tid == own).unwrap();
    assert_eq!(entry.tgid, std::process::id());
    assert_eq!(entry.parent, std::os::unix::process::parent_id());
    assert!(!entry.kernel);
}

#[test]
#[ignore = "needs root"]
fn a_threads_rest_is_not_its_time() {
    pin_this_thread(*online().unwrap().last().unwrap()).unwrap();
    let meter = opened();
    let (reply, share) = sampled(&meter, || {
        let begun = now_ns();
        while now_ns() < begun + 1_300_000 {}
        thread::sleep(Duration::from_micros(2_900));
    });
    let found = share_of_this_thread(&reply, None);
    assert!((0.05..0.6).contains(&share), "{share}");
    assert!((found - share).abs() < TOLERANCE, "{found} of {share}");
}

#[test]
#[ignore = "needs root"]
fn a_soft_interrupt_on_top_of_a_thread_is_told_from_it() {
    in_namespace(|| {
        let (meter, sender, frame) = (opened(), Sender::new(), test_frame(0));
        let (reply, share) = sampled(&meter, || sender.send(&frame));
        let softirq = share_of_this_thread(&reply, Some("softirq"));
        // Receiving a frame that nobody wants takes a good part of what sending it does.
        assert!(softirq > 0.05 * share, "{softirq} of {share}");
        let found = share_of_this_thread(&reply, None);
        assert!((found - share).abs() < TOLERANCE, "{found} of {share}");
    });
}

#[test]
#[ignore = "needs root"]
fn every_sample_is_in_one_entry_or_unfiled() {
    for entries in [MOST_ENTRIES, 1] {
        let meter = Cpu::load(online().unwrap(), entries, PERIOD_NS).unwrap();
        let (reply, _) = sampled(&meter, thread::yield_now);
        for cpu in &reply.cpus {
            let of_cpu = reply.samples.iter().filter(|entry| entry.cpu == cpu.cpu);
            let filed: u64 = of_cpu.map(|entry| entry.samples).sum();
            assert_eq!(filed + cpu.unfiled, cpu.taken);
            assert!(cpu.taken <= cpu.expected + 1, "{cpu:?}");
            assert!(cpu.late_ns < cpu.taken.max(1) * PERIOD_NS, "{cpu:?}");
            assert!(
                cpu.latest_ns <= cpu.late_ns && cpu.late_ns <= cpu.taken * cpu.latest_ns,
                "{cpu:?}"
            );
            assert_eq!(cpu.paused > 0, cpu.latest_ns >= 100_000, "{cpu:?}");
            assert!(
                cpu.missed <= cpu.paused * (cpu.latest_ns / PERIOD_NS),
                "{cpu:?}"
            );
        }
        let unfiled: u64 = reply.cpus.iter().map(|cpu| cpu.unfiled).sum();
        assert_eq!(unfiled > 0, entries == 1, "{unfiled}");
    }
}

#[test]
#[ignore = "needs root"]
fn nothing_is_filed_outside_the_window() {
    let meter = opened();
    let (first, _) = sampled(&meter, thread::yield_now);
    let begun = now_ns();
    while now_ns() < begun + 50_000_000 {}
    assert_eq!(read(&meter).samples, first.samples);
    let params = json!({"delay_s": 0, "duration_s": 0.001});
    meter.arm(&read_value(params).unwrap()).unwrap();
    let again: u64 = read(&meter).cpus.iter().map(|cpu| cpu.taken).sum();
    assert!(again <= 2 * online().unwrap().len() as u64, "{again}");
}

#[test]
#[ignore = "needs root"]
fn a_window_is_read_after_its_end() {
    let meter = opened();
    arm(&meter);
    let error = meter.read(&CpuReadParams { first: 0 }).unwrap_err();
    assert!(
        error.to_string().starts_with("the window ends in "),
        "{error}"
    );
}

/// The program's own time, as the kernel takes it; the interrupt that it runs in comes on top.
#[test]
#[ignore = "needs root"]
fn the_program_takes_little_of_a_cpu() {
    let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    assert!(statistics >= 0, "{statistics}");
    let meter = opened();
    sampled(&meter, thread::yield_now);
    let programs = ProgInfoIter::default();
    let meters = programs.filter(|program| program.name == "cpu_sample");
    let (runs, run_ns) = meters.fold((0, 0), |(runs, run_ns), program| {
        (runs + program.run_cnt, run_ns + program.run_time_ns)
    });
    // SAFETY: the kernel gave it to this test alone.
    unsafe { libc::close(statistics) };
    assert!(runs > 0);
    let share = run_ns as f64 / runs as f64 * f64::from(HZ) / 1e9;
    println!("{run_ns} ns in {runs} runs: {:.4}% of a CPU", 100.0 * share);
    assert!(share < 0.003, "{share}");
}

#[test]
#[ignore = "needs root"]
fn parameters_are_bounded() {
    let open = |cpus, hz| open(json!({"cpus": cpus, "hz": hz})).map(|_| ());
    let meter = opened();
    let arm = |delay_s, duration_s| {
        let params = json!({"delay_s": delay_s, "duration_s": duration_s});
        meter.arm(&read_value(params)?)
    };
    for (refused, field) in [
        (open(json!(null), 0), "hz: "),
        (open(json!(null), 10_001), "hz: "),
        (open(json!([9999]), HZ), "cpus: "),
        (open(json!([]), HZ), "cpus: "),
        (arm(-1.0, 1.0), "delay_s: "),
        (arm(f64::NAN, 1.0), "delay_s: "),
        (arm(0.0, 0.0), "duration_s: "),
        (arm(0.0, 1e9), "duration_s: "),
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    }
}
