//! A CPU's perf events: each runs a program there.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use anyhow::Context;
use libbpf_rs::{Link, ProgramMut};

use super::bpf::with_libbpf_log;

const REMEDY: &str =
    "it takes root, or CAP_PERFMON and CAP_BPF, and a kernel with CONFIG_PERF_EVENTS";

/// What a program runs at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The clock, once in so many ns, also while the CPU is idle.
    Clock { period_ns: u64 },
    /// Each switch from one thread to another, in the context of the former.
    Switch,
}

/// Runs `program` at an event of a CPU, until the link is dropped.
pub(crate) fn attach(program: &ProgramMut<'_>, cpu: usize, event: Event) -> anyhow::Result<Link> {
    let what = match event {
        Event::Clock { .. } => "sample the clock",
        Event::Switch => "follow the switches",
    };
    let refused = || format!("the kernel refuses to {what} of CPU {cpu}; {REMEDY}");
    let event = open(cpu, event).with_context(refused)?;
    let link = with_libbpf_log("cannot attach to an event of a CPU", || {
        program.attach_perf_event(event.as_raw_fd())
    })?;
    // The link closes it.
    let _ = event.into_raw_fd();
    Ok(link)
}

fn open(cpu: usize, event: Event) -> io::Result<OwnedFd> {
    let (config, period) = match event {
        Event::Clock { period_ns } => (libbpf_sys::PERF_COUNT_SW_CPU_CLOCK, period_ns),
        Event::Switch => (libbpf_sys::PERF_COUNT_SW_CONTEXT_SWITCHES, 1),
    };
    let mut wanted = libbpf_sys::perf_event_attr {
        type_: libbpf_sys::PERF_TYPE_SOFTWARE,
        size: size_of::<libbpf_sys::perf_event_attr>() as u32,
        config: u64::from(config),
        ..Default::default()
    };
    wanted.__bindgen_anon_1.sample_period = period;
    let (everybody, no_group) = (-1, -1);
    // SAFETY: `wanted` outlives the call and says how long it is.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const wanted,
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
