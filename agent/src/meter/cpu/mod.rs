//! # CPU: whose time it is, sampled
//!
//! One BPF program at the clock of each CPU files a sample a thousand times a second under the task that it interrupts. It
//! sees soft interrupts that run on top of a task, which the scheduler's own times do not. Only what falls into an armed
//! window is filed, so that nothing need be asked while a trial is measured.

mod queue;
#[cfg(test)]
mod tests;
mod wire;

use std::fs;
use std::mem::MaybeUninit;

use anyhow::Context;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};

use crate::api::bounds::GREATEST_SAMPLE_HZ;
use crate::cpu::CpuList;
use crate::error::Error;
use crate::traffic::bpf::{MapValue, Single, comm_text, with_libbpf_log};
use crate::traffic::clock::now_ns;
use crate::traffic::perf_event::{Event, attach};

pub(crate) use wire::{CpuArmParams, CpuOpenParams, CpuReadAnswer, CpuReadParams};
use wire::{SampledCpu, ThreadSamples};

mod skeleton {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/cpu.skel.rs"));
}

use skeleton::types::{filed as Filed, owner as Owner, taken as Taken, window as Window};

// SAFETY: laid out by the skeleton after the BPF program's own types: integers, without padding.
unsafe impl MapValue for Filed {}
unsafe impl MapValue for Owner {}
unsafe impl MapValue for Taken {}
unsafe impl MapValue for Window {}

/// Threads in one context on one CPU; their samples are unfiled beyond.
const MOST_ENTRIES: u32 = 4096;
/// A reply has to fit into a line.
const ENTRIES_PER_REPLY: usize = 200;
const ONLINE: &str = "/sys/devices/system/cpu/online";
/// `enum context` of cpu.bpf.c.
const CONTEXTS: [&str; 3] = ["task", "softirq", "hardirq"];

/// The meter at work; dropping it takes it off.
#[derive(Debug)]
pub(crate) struct Cpu {
    cpus: Vec<usize>,
    period_ns: u64,
    window: Single<Window>,
    filed: MapHandle,
    taken: MapHandle,
    _links: Vec<Link>,
}

impl Cpu {
    /// Samples from now on, and files nothing before it is armed.
    pub(crate) fn open(params: &CpuOpenParams) -> Result<Self, Error> {
        if !(1..=GREATEST_SAMPLE_HZ).contains(&params.hz.into()) {
            let problem = format!("{} is not in 1 to {GREATEST_SAMPLE_HZ}", params.hz);
            return Err(Error::params("hz", problem));
        }
        let online = online()?;
        let cpus = params.cpus.as_ref().unwrap_or(&online).clone();
        if let Some(absent) = cpus.iter().find(|cpu| !online.contains(cpu)) {
            let problem = format!("this machine has no CPU {absent} online");
            return Err(Error::params("cpus", problem));
        }
        if cpus.is_empty() {
            return Err(Error::params("cpus", "none is named"));
        }
        let period_ns = 1_000_000_000 / u64::from(params.hz);
        Ok(Self::load(cpus, MOST_ENTRIES, period_ns)?)
    }

    fn load(cpus: Vec<usize>, entries: u32, period_ns: u64) -> anyhow::Result<Self> {
        let places = cpus.iter().max().map_or(1, |&last| last as u32 + 1);
        let count_from_queue = queue::count_from_queue()?;
        let mut storage = MaybeUninit::uninit();
        let program = with_libbpf_log("the kernel refuses the CPU meter's BPF program", || {
            let mut open = skeleton::CpuSkelBuilder::default().open(&mut storage)?;
            open.maps.cpu_filed.set_max_entries(entries)?;
            open.maps.cpu_taken.set_max_entries(places)?;
            let constants = open
                .maps
                .rodata_data
                .as_deref_mut()
                .expect("the program has constants");
            constants.count_from_queue = count_from_queue;
            constants.period_ns = period_ns;
            open.load()
        })?;
        let links = cpus
            .iter()
            .map(|&cpu| attach(&program.progs.cpu_sample, cpu, Event::Clock { period_ns }))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self {
            cpus,
            period_ns,
            window: Single::new(&program.maps.cpu_window)?,
            filed: MapHandle::try_from(&program.maps.cpu_filed).context("BPF map")?,
            taken: MapHandle::try_from(&program.maps.cpu_taken).context("BPF map")?,
            _links: links,
        })
    }

    /// Forgets what was filed, and files the samples of a window.
    pub(crate) fn arm(&self, params: &CpuArmParams) -> Result<(), Error> {
        let start_ns = now_ns() + (params.delay_s.get() * 1e9) as u64;
        let end_ns = start_ns + (params.duration_s.get() * 1e9) as u64;
        Ok(self.file_from(Window { start_ns, end_ns })?)
    }

    fn file_from(&self, window: Window) -> anyhow::Result<()> {
        self.window.zero()?;
        for key in self.filed.keys() {
            self.filed
                .delete(&key)
                .context("cannot clear BPF map cpu_filed")?;
        }
        for &cpu in &self.cpus {
            let (cpu, none) = ((cpu as u32).to_ne_bytes(), [0; size_of::<Taken>()]);
            let put = self.taken.update(&cpu, &none, MapFlags::ANY);
            put.context("cannot clear BPF map cpu_taken")?;
        }
        self.window.write(&window)
    }

    /// What was filed, in parts; refused before the window has ended.
    pub(crate) fn read(&self, params: &CpuReadParams) -> Result<CpuReadAnswer, Error> {
        let window = self.window.read()?;
        let left_ns = window.end_ns.saturating_sub(now_ns());
        if left_ns > 0 {
            let left_s = left_ns as f64 / 1e9;
            return Err(anyhow::anyhow!("the window ends in {left_s:.3} s; read then").into());
        }
        let window_ns = window.end_ns - window.start_ns;
        let cpus = self.cpus.iter().map(|&cpu| self.cpu(cpu as u32, window_ns));
        let cpus = cpus.collect::<anyhow::Result<_>>()?;
        let mut samples = self.samples()?;
        samples.sort_by_key(|entry| (entry.cpu, entry.tgid, entry.tid, entry.context));
        let entries = samples.len();
        let part = samples.into_iter().skip(params.first);
        Ok(CpuReadAnswer {
            window_ns,
            period_ns: self.period_ns,
            cpus,
            entries,
            samples: part.take(ENTRIES_PER_REPLY).collect(),
        })
    }

    fn cpu(&self, cpu: u32, window_ns: u64) -> anyhow::Result<SampledCpu> {
        let found = self.taken.lookup(&cpu.to_ne_bytes(), MapFlags::ANY);
        let found = found.context("cannot read BPF map cpu_taken")?;
        let taken = Taken::of(&found.with_context(|| format!("CPU {cpu} is not sampled"))?)?;
        Ok(SampledCpu {
            cpu,
            expected: window_ns / self.period_ns,
            taken: taken.samples,
            unfiled: taken.unfiled,
            late_ns: taken.late_ns,
            latest_ns: taken.latest_ns,
            paused: taken.paused,
            missed: taken.missed,
        })
    }

    fn samples(&self) -> anyhow::Result<Vec<ThreadSamples>> {
        let mut samples = Vec::new();
        for key in self.filed.keys() {
            let found = self.filed.lookup(&key, MapFlags::ANY);
            if let Some(value) = found.context("cannot read BPF map cpu_filed")? {
                samples.push(reply(Owner::of(&key)?, Filed::of(&value)?));
            }
        }
        Ok(samples)
    }
}

fn reply(owner: Owner, filed: Filed) -> ThreadSamples {
    ThreadSamples {
        cpu: owner.cpu,
        tgid: owner.tgid,
        tid: owner.tid,
        parent: filed.parent,
        kernel: filed.kernel != 0,
        comm: comm_text(&filed.comm),
        cgroup: owner.cgroup,
        context: CONTEXTS[owner.context as usize],
        samples: filed.samples,
    }
}

fn online() -> anyhow::Result<Vec<usize>> {
    let text = fs::read_to_string(ONLINE).with_context(|| format!("cannot read {ONLINE}"))?;
    let list: CpuList = text.trim().parse()?;
    Ok(list.numbers().to_vec())
}
