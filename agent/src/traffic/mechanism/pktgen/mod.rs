//! # pktgen: frames that the kernel makes by itself
//!
//! A device of pktgen's for each stream, all on the kernel thread of one CPU, straight to the driver. Each frame is made anew and sent by
//! itself: pktgen's clones and bursts would repeat its sequence number. Everything is asked for through files of this network
//! namespace, which other users of pktgen share.

mod report;

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};

use crate::traffic::clock::now_ns;
use crate::traffic::frame::{
    Addresses, Endpoints, Phase, SEQUENCE_NUMBERS, no_sequence_left, telling_ports,
};
use crate::traffic::interface::Interface;
pub(in crate::traffic) use report::Report;

/// The thread's own namespace, which /proc/net is not.
const DIRECTORY: &str = "/proc/thread-self/net/pktgen";
const CONTROL: &str = "pgctrl";
/// What takes everything out of pktgen.
const RELEASE: &str = "echo reset > /proc/net/pktgen/pgctrl";
/// A kernel thread of each CPU.
const THREADS: &str = "kpktgend_";
/// They look for commands each tenth of a second while they have nothing to send.
const LIMIT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A stream's device.
#[derive(Debug)]
pub(in crate::traffic) struct Device {
    name: String,
    /// Of the kernel thread that sends.
    thread: String,
    stream: u8,
}

impl Device {
    /// Adds a device that sends the stream's frames from `cpu`.
    pub(in crate::traffic) fn open(
        interface: &Interface,
        cpu: usize,
        stream: u8,
        endpoints: &Endpoints,
    ) -> anyhow::Result<Self> {
        let Addresses::V4 {
            source,
            destination,
        } = endpoints.addresses
        else {
            return Err(anyhow!(
                "pktgen leaves the checksum that IPv6 wants to the interface; use another mechanism"
            ));
        };
        let thread = format!("{THREADS}{cpu}");
        ensure!(
            path(&thread).exists(),
            "pktgen has no thread {thread}; choose a CPU that was online when it was loaded"
        );
        let name = format!("{}@{stream}", interface.name);
        write(&thread, &format!("add_device {name}")).with_context(|| {
            format!("pktgen takes no {name}; what someone left there goes by: {RELEASE}")
        })?;
        let device = Self {
            name,
            thread,
            stream,
        };
        device.set("clone_skb", 0)?;
        device.set("burst", 1)?;
        // It ends by itself before a sequence number comes again.
        device.set("count", SEQUENCE_NUMBERS)?;
        device.set("flag", "NO_TIMESTAMP")?;
        device.set("src_mac", endpoints.source_mac)?;
        device.set("dst_mac", endpoints.destination_mac)?;
        device.set("src_min", source)?;
        device.set("dst_min", destination)?;
        if let Some(vlan) = endpoints.vlan {
            device.set("vlan_id", vlan)?;
        }
        Ok(device)
    }

    /// Makes its next frames those of a trial's phase, one each `gap_ns`; 0 is as fast as they go.
    pub(in crate::traffic) fn prepare(
        &self,
        trial: u32,
        phase: Phase,
        frame_bytes: usize,
        gap_ns: u64,
    ) -> anyhow::Result<()> {
        let (source, destination) = telling_ports(trial, phase, self.stream);
        self.set("pkt_size", frame_bytes)?;
        self.set("delay", gap_ns)?;
        for bound in ["min", "max"] {
            self.set(&format!("udp_src_{bound}"), source)?;
            self.set(&format!("udp_dst_{bound}"), destination)?;
        }
        Ok(())
    }

    pub(in crate::traffic) fn report(&self) -> anyhow::Result<Report> {
        let text = read(&self.name)?;
        Report::parse(&text).with_context(|| format!("pktgen's {} reads `{text}`", self.name))
    }

    /// Why it ended before it was told to, after `sent` frames.
    pub(in crate::traffic) fn early_end(&self, sent: u64) -> anyhow::Error {
        if sent >= SEQUENCE_NUMBERS {
            return no_sequence_left();
        }
        let said = read(&self.name).unwrap_or_default();
        anyhow!(
            "pktgen's {} ended by itself after {sent} frames ({}); see that the interface is up and has a carrier",
            self.name,
            report::result(&said)
        )
    }

    fn set(&self, key: &str, value: impl Display) -> anyhow::Result<()> {
        let command = format!("{key} {value}");
        write(&self.name, &command)?;
        // Not everything that it does not take is an error to it.
        let text = read(&self.name)?;
        let said = report::result(&text);
        ensure!(
            said.starts_with("OK"),
            "this kernel's pktgen takes no `{command}`: {said}; use another mechanism"
        );
        Ok(())
    }

    fn remove(&self) -> anyhow::Result<()> {
        let there = read(&self.thread)?;
        if report::devices(&there).any(|name| name == self.name) {
            write(&self.thread, "rem_device_all")?;
        }
        Ok(())
    }
}

impl Drop for Device {
    /// With it go the other streams' devices, which have no use without it.
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            eprintln!("vtax-agent: {error:#}");
        }
    }
}

/// All devices at work, until this is stopped or dropped.
#[derive(Debug)]
pub(in crate::traffic) struct Running {
    begun: bool,
    /// Writes `start`, and returns some time after the last frame.
    starter: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Running {
    /// Starts these devices, and returns when each has begun: when that was, CLOCK_MONOTONIC.
    pub(in crate::traffic) fn start(devices: &[&Device]) -> anyhow::Result<(Self, u64)> {
        require_unused(devices)?;
        let asked_us = now_ns() / 1000;
        let starter = thread::Builder::new().spawn(|| write(CONTROL, "start"));
        let mut running = Self {
            begun: false,
            starter: Some(starter.context("cannot start a thread for pktgen")?),
        };
        let deadline = Instant::now() + LIMIT;
        loop {
            let begun = devices.iter().map(|device| Ok(device.report()?.started_us));
            let begun = begun.collect::<anyhow::Result<Vec<_>>>()?;
            if let Some(&first_us) = begun.iter().min()
                && first_us >= asked_us
            {
                running.begun = true;
                return Ok((running, first_us * 1000));
            }
            if Instant::now() >= deadline {
                running.end()?;
                return Err(anyhow!(
                    "pktgen did not begin within {} s; see that others leave it its CPU, and open the source again",
                    LIMIT.as_secs()
                ));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Ends the traffic; returns when that was asked for, CLOCK_MONOTONIC.
    pub(in crate::traffic) fn stop(mut self) -> anyhow::Result<u64> {
        let asked_ns = now_ns();
        self.end()?;
        Ok(asked_ns)
    }

    /// Whether all devices have ended by themselves.
    pub(in crate::traffic) fn has_ended(&self) -> anyhow::Result<bool> {
        // Who started them is told so, but also where they began late.
        let told = self.starter.as_ref().is_none_or(JoinHandle::is_finished);
        Ok(told && !runs()?)
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let Some(starter) = self.starter.take() else {
            return Ok(());
        };
        // A thread obeys `stop` before a `start` that it has not seen yet, and `reset` after it.
        let command = if self.begun { "stop" } else { "reset" };
        write(CONTROL, command)?;
        let deadline = Instant::now() + LIMIT;
        while runs()? {
            ensure!(
                Instant::now() < deadline,
                "pktgen runs on {} s after it was told to stop; take its interface down",
                LIMIT.as_secs()
            );
            thread::sleep(POLL_INTERVAL);
            // A thread that clears what it obeyed may clear this along with it.
            write(CONTROL, command)?;
        }
        starter.join().expect("writing a file does not panic")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("vtax-agent: {error:#}");
        }
    }
}

/// Why there is no pktgen here; None where there is.
pub(super) fn absence() -> Option<String> {
    let reason = "this kernel's packet generator is not loaded; modprobe pktgen, or name it in the modules of a guest's guest.configure";
    (!path(CONTROL).exists()).then(|| reason.to_owned())
}

/// Whoever else has devices here would have them started along with ours.
fn require_unused(ours: &[&Device]) -> anyhow::Result<()> {
    for (thread, text) in threads()? {
        let other = report::devices(&text).find(|&name| ours.iter().all(|own| own.name != name));
        if let Some(other) = other {
            return Err(anyhow!(
                "pktgen's {thread} has {other} for someone else, which would start along; release it: {RELEASE}"
            ));
        }
    }
    Ok(())
}

fn runs() -> anyhow::Result<bool> {
    let mut threads = threads()?.into_iter();
    Ok(threads.any(|(_, text)| report::running(&text).next().is_some()))
}

/// The kernel threads' files, and what they read.
fn threads() -> anyhow::Result<Vec<(String, String)>> {
    let files = fs::read_dir(DIRECTORY).with_context(|| format!("cannot list {DIRECTORY}"))?;
    let mut threads = Vec::new();
    for file in files {
        let name = file?.file_name().to_string_lossy().into_owned();
        if name.starts_with(THREADS) {
            let text = read(&name)?;
            threads.push((name, text));
        }
    }
    Ok(threads)
}

fn path(file: &str) -> PathBuf {
    PathBuf::from(DIRECTORY).join(file)
}

fn read(file: &str) -> anyhow::Result<String> {
    fs::read_to_string(path(file)).with_context(|| format!("cannot read pktgen's {file}"))
}

fn write(file: &str, command: &str) -> anyhow::Result<()> {
    fs::write(path(file), format!("{command}\n")).with_context(|| {
        let said = read(file).unwrap_or_default();
        let said = report::result(&said).to_owned();
        format!("pktgen's {file} refuses `{command}` ({said}); see that CAP_NET_ADMIN is granted")
    })
}
