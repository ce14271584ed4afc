//! # The clock of every time stamp
//!
//! CLOCK_MONOTONIC, which `bpf_ktime_get_ns` reads as well: source and sink on one kernel need no synchronization.

use std::time::Duration;

use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

/// Now. A read through the vdso, no system call.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call; CLOCK_MONOTONIC exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until `time_ns`; a signal may end it early.
pub(crate) fn sleep_until(time_ns: u64) {
    let time = Duration::from_nanos(time_ns).into();
    // An error means a signal: the callers look at the clock again.
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &time,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_reaches_its_time() {
        let time_ns = now_ns() + 2_000_000;
        while now_ns() < time_ns {
            sleep_until(time_ns);
        }
        assert!(now_ns() >= time_ns);
    }
}
