//! # Threads and the CPUs they run on

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::str::FromStr;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use schemars::JsonSchema;
use serde::Serialize;

/// CPU numbers as cpuset(7) lists them: `0,2-3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<usize>);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a list of CPUs; write numbers and ranges below 1024, as in 0,2-3")]
pub struct NotACpuList(String);

impl FromStr for CpuList {
    type Err = NotACpuList;

    fn from_str(text: &str) -> Result<Self, NotACpuList> {
        let number = |digits: &str| {
            let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
            let number: usize = digits.parse().ok()?;
            (plain && number < CpuSet::count()).then_some(number)
        };
        let parse = || {
            let mut cpus = Vec::new();
            for part in text.split(',') {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return None;
                }
                cpus.extend(first..=last);
            }
            Some(Self(cpus))
        };
        parse().ok_or_else(|| NotACpuList(text.to_owned()))
    }
}

impl CpuList {
    /// The numbers as they were listed.
    pub(crate) fn numbers(&self) -> &[usize] {
        &self.0
    }

    /// Keeps the calling thread, and those it starts, on these CPUs.
    pub fn pin_this_thread(&self) -> io::Result<()> {
        let mut set = CpuSet::new();
        for &cpu in &self.0 {
            set.set(cpu)?;
        }
        Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
    }
}

/// Keeps the calling thread, and those it starts, on one CPU.
pub(crate) fn pin_this_thread(cpu: usize) -> io::Result<()> {
    CpuList(vec![cpu]).pin_this_thread()
}

/// The CPUs that the calling thread may be on: one at least.
pub(crate) fn allowed_cpus() -> nix::Result<Vec<usize>> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    let is_allowed = |cpu: &usize| allowed.is_set(*cpu) == Ok(true);
    Ok((0..CpuSet::count()).filter(is_allowed).collect())
}

/// Lets the calling thread preempt every ordinary thread of its CPU.
pub(crate) fn preempt_ordinary_threads() -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: `priority` outlives the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A thread's time on its CPU and its time of waiting for it, from schedstat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ThreadTime {
    /// Time spent on a CPU, in ns.
    pub(crate) run_ns: u64,
    /// Time spent waiting for a CPU, in ns.
    pub(crate) run_delay_ns: u64,
}

impl ThreadTime {
    /// Of the calling thread since it began.
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/thread-self/schedstat")?;
        Self::parse(&text).ok_or_else(|| io::Error::other(format!("schedstat reads `{text}`")))
    }

    fn parse(schedstat: &str) -> Option<Self> {
        let mut fields = schedstat.split_ascii_whitespace();
        Some(Self {
            run_ns: fields.next()?.parse().ok()?,
            run_delay_ns: fields.next()?.parse().ok()?,
        })
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            run_ns: self.run_ns - earlier.run_ns,
            run_delay_ns: self.run_delay_ns - earlier.run_delay_ns,
        }
    }
}

/// Keeps idle CPUs out of the sleep states they are slow to leave, until it is dropped.
pub(crate) struct CpuLatency {
    _request: File,
}

impl CpuLatency {
    /// None where the kernel has no such control or does not grant it.
    pub(crate) fn hold() -> Option<Self> {
        let mut request = OpenOptions::new()
            .write(true)
            .open("/dev/cpu_dma_latency")
            .ok()?;
        request.write_all(&0_i32.to_ne_bytes()).ok()?;
        Some(Self { _request: request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        let cpus = |text: &str| text.parse::<CpuList>().unwrap().0;
        assert_eq!(cpus("0"), [0]);
        assert_eq!(cpus("0,2-4,1023"), [0, 2, 3, 4, 1023]);
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            ",",
            "1,",
            "a",
            "-1",
            "+1",
            "2-1",
            "1024",
            "0-99999999999999999999",
        ] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_pinned_thread_has_one_cpu() {
        let last = *allowed_cpus().unwrap().last().unwrap();
        pin_this_thread(last).unwrap();
        assert_eq!(allowed_cpus().unwrap(), [last]);
    }

    #[test]
    fn schedstat_is_read() {
        let earlier = ThreadTime::parse("1000 20 3\n").unwrap();
        let later = ThreadTime::parse("5000 50 9\n").unwrap();
        let between = ThreadTime {
            run_ns: 4000,
            run_delay_ns: 30,
        };
        assert_eq!(later.since(earlier), between);
        assert_eq!(ThreadTime::parse("1000\n"), None);
        ThreadTime::of_this_thread().unwrap();
    }
}
