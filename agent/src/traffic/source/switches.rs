//! # Who else had the source's CPU
//!
//! A BPF program at each switch of that CPU alone files how long a process had it: the CPUs of the UUT run nothing of it,
//! and a source that nobody disturbs is hardly ever switched.

use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;

use anyhow::Context;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};

use super::reply::ProcessTime;
use crate::traffic::bpf::{MapValue, comm_text, with_libbpf_log};
use crate::traffic::perf_event::{Event, attach};

mod skeleton {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/switches.skel.rs"));
}

use skeleton::types::had as Had;

// SAFETY: laid out by the skeleton after the BPF program's own type: integers, without padding.
unsafe impl MapValue for Had {}

/// Processes that are told apart in a phase; what further ones had is left out.
const MOST_PROCESSES: u32 = 1024;
/// Of a reply, those that had the CPU longest.
const MOST_TOLD: usize = 8;
const OWN_NAMESPACE: &str = "/proc/self/ns/pid";

/// The program at work; dropping it takes it off.
#[derive(Debug)]
pub(super) struct Switches {
    had: MapHandle,
    _link: Link,
}

impl Switches {
    /// Files from now on what others have of a CPU.
    pub(super) fn of(cpu: usize) -> anyhow::Result<Self> {
        let namespace = fs::metadata(OWN_NAMESPACE)
            .with_context(|| format!("cannot look at {OWN_NAMESPACE}"))?;
        let mut storage = MaybeUninit::uninit();
        let program = with_libbpf_log("the kernel refuses the BPF program of switches", || {
            let mut open = skeleton::SwitchesSkelBuilder::default().open(&mut storage)?;
            open.maps.switches_had.set_max_entries(MOST_PROCESSES)?;
            let constants = open
                .maps
                .rodata_data
                .as_deref_mut()
                .expect("the program has constants");
            constants.own_pid = std::process::id();
            constants.namespace_device = namespace.dev();
            constants.namespace_inode = namespace.ino();
            open.load()
        })?;
        Ok(Self {
            _link: attach(&program.progs.switches_file, cpu, Event::Switch)?,
            had: MapHandle::try_from(&program.maps.switches_had).context("BPF map")?,
        })
    }

    /// Forgets what was filed.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        for key in self.had.keys() {
            self.had
                .delete(&key)
                .context("cannot clear BPF map switches_had")?;
        }
        Ok(())
    }

    /// Who had the CPU since it was cleared, the longest first.
    pub(super) fn had(&self) -> anyhow::Result<Vec<ProcessTime>> {
        let mut found = Vec::new();
        for key in self.had.keys() {
            let value = self.had.lookup(&key, MapFlags::ANY);
            let (Some(value), Ok(pid)) = (
                value.context("cannot read BPF map switches_had")?,
                <[u8; 4]>::try_from(&key[..]),
            ) else {
                continue;
            };
            found.push(told(u32::from_ne_bytes(pid), &Had::of(&value)?));
        }
        found.sort_by_key(|process| (std::cmp::Reverse(process.run_ns), process.pid));
        found.truncate(MOST_TOLD);
        Ok(found)
    }
}

fn told(pid: u32, had: &Had) -> ProcessTime {
    ProcessTime {
        pid,
        kernel: had.kernel != 0,
        comm: comm_text(&had.comm),
        run_ns: had.run_ns,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::cpu::pin_this_thread;
    use crate::traffic::clock::now_ns;

    fn spin(duration: Duration) {
        let begun = now_ns();
        while now_ns() - begun < duration.as_nanos() as u64 {
            std::hint::spin_loop();
        }
    }

    #[test]
    #[ignore = "needs root"]
    fn a_process_that_has_the_cpu_is_named_with_its_time_and_the_own_one_is_not() {
        pin_this_thread(0).unwrap();
        let switches = Switches::of(0).unwrap();
        switches.clear().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let schedstat = || {
            let text = fs::read_to_string(format!("/proc/{}/schedstat", child.id())).unwrap();
            text.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        let earlier_ns = schedstat();
        while schedstat() < earlier_ns + 50_000_000 {
            spin(Duration::from_millis(1));
        }
        // It has had the CPU until it is switched from; what it had since is not filed yet.
        let ran_ns = schedstat() - earlier_ns;
        let found = switches.had().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let had = found.iter().find(|process| process.comm == "sh").unwrap();
        assert!(!had.kernel);
        assert!(had.run_ns > ran_ns / 2, "{} of {ran_ns}", had.run_ns);
        assert!(
            found
                .iter()
                .all(|process| process.pid != std::process::id())
        );
        switches.clear().unwrap();
        thread::sleep(Duration::from_millis(1));
        let left = switches.had().unwrap();
        assert!(
            left.iter().all(|process| process.pid != had.pid),
            "{left:?}"
        );
    }
}
