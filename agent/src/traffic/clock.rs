//! Time, and what disturbs it: the monotonic clock, idle states, a thread's wait for its CPU.

use std::fs::{File, OpenOptions};
use std::io::Write;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use serde::Serialize;

/// CLOCK_MONOTONIC in ns: what `bpf_ktime_get_ns` reads in the sink. Served by the vdso, without a system call.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC exists");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Keeps CPUs out of idle states while it lives: wake-ups from them would dominate delay and starve threaded NAPI.
///
/// Linux Documentation/power/pm_qos_interface.rst: the request holds as long as the file is open.
pub struct AwakeCpus(#[allow(dead_code, reason = "held open")] File);

impl AwakeCpus {
    /// None where the kernel has no such file or denies it.
    pub fn hold() -> Option<Self> {
        let mut file = OpenOptions::new()
            .write(true)
            .open("/dev/cpu_dma_latency")
            .ok()?;
        file.write_all(&0_i32.to_ne_bytes()).ok()?;
        Some(Self(file))
    }
}

/// Nanoseconds that a thread ran, and that it was ready but had no CPU (schedstat).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ThreadTime {
    pub run_ns: u64,
    pub run_delay_ns: u64,
}

impl ThreadTime {
    /// Of the calling thread; zeros where the kernel keeps no schedstat.
    pub fn of_this_thread() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut fields = text
            .split_whitespace()
            .map_while(|field| field.parse().ok());
        Self {
            run_ns: fields.next().unwrap_or(0),
            run_delay_ns: fields.next().unwrap_or(0),
        }
    }

    pub fn since(self, earlier: Self) -> Self {
        Self {
            run_ns: self.run_ns - earlier.run_ns,
            run_delay_ns: self.run_delay_ns - earlier.run_delay_ns,
        }
    }
}

/// Binds the calling thread to CPUs.
pub fn pin_this_thread(cpus: &[usize]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
}
