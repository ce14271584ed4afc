//! The clock of one CPU: a perf event whose every overflow runs the program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use anyhow::Context;
use libbpf_rs::{Link, ProgramMut};

use crate::traffic::bpf::with_libbpf_log;

const REMEDY: &str =
    "it takes root, or CAP_PERFMON and CAP_BPF, and a kernel with CONFIG_PERF_EVENTS";

/// Runs `program` on a CPU once in `period_ns` of the clock, also while the CPU is idle, until the link is dropped.
pub(super) fn sample(program: &ProgramMut<'_>, cpu: usize, period_ns: u64) -> anyhow::Result<Link> {
    let refused = || format!("the kernel refuses to sample the clock of CPU {cpu}; {REMEDY}");
    let event = open(cpu, period_ns).with_context(refused)?;
    let link = with_libbpf_log("cannot attach to the clock of a CPU", || {
        program.attach_perf_event(event.as_raw_fd())
    })?;
    // The link closes it.
    let _ = event.into_raw_fd();
    Ok(link)
}

fn open(cpu: usize, period_ns: u64) -> io::Result<OwnedFd> {
    let mut clock = libbpf_sys::perf_event_attr {
        type_: libbpf_sys::PERF_TYPE_SOFTWARE,
        size: size_of::<libbpf_sys::perf_event_attr>() as u32,
        config: u64::from(libbpf_sys::PERF_COUNT_SW_CPU_CLOCK),
        ..Default::default()
    };
    clock.__bindgen_anon_1.sample_period = period_ns;
    let (everybody, no_group) = (-1, -1);
    // SAFETY: `clock` outlives the call and says how long it is.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const clock,
            everybody,
            cpu as i32,
            no_group,
            u64::from(libbpf_sys::PERF_FLAG_FD_CLOEXEC),
        )
    };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave it to us.
    Ok(unsafe { OwnedFd::from_raw_fd(event as i32) })
}
