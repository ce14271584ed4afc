//! # How a guest stands
//!
//! Asked before and after each trial: what changed in between is a result, and may be the reason of a loss.

use std::collections::HashMap;
use std::fs;
use std::io;

use anyhow::Context;
use nix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::Serialize;

use super::counters;
use super::kernel;
use super::links::{self, Frames, Link, Links};
use crate::error::Error;
use crate::mac::MacAddress;

const VMSTAT: &str = "/proc/vmstat";

/// `guest.state`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct GuestStateAnswer {
    /// All that have an Ethernet address of their own, the loopback interface with its zeros too.
    interfaces: Vec<InterfaceState>,
    /// Time of day less monotonic time, in ns: changes when the clock is stepped.
    #[schemars(range(min = i64::MIN, max = i64::MAX))]
    clock_offset_ns: i64,
    /// Processes that this kernel has killed for want of memory since it started; null where it does not count them, or is
    /// not the guest's own.
    #[schemars(range(max = i64::MAX))]
    oom_kills: Option<u64>,
}

/// An interface as it is now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct InterfaceState {
    /// The name of the interface.
    #[schemars(regex(pattern = r"^[^\x00-\x20\x7f-\xa0/]{1,15}$"))]
    interface: String,
    /// The Ethernet address of the interface.
    mac: MacAddress,
    /// Administratively up, and with a carrier.
    ready: bool,
    #[serde(flatten)]
    frames: Frames,
    /// Frames that its queueing discipline has dropped since it was made.
    #[schemars(range(max = i64::MAX))]
    dropped_queue: u64,
}

impl InterfaceState {
    fn of(
        link: Link,
        frames: &HashMap<String, Frames>,
        queue_drops: &HashMap<u32, u64>,
    ) -> Option<Self> {
        Some(Self {
            mac: link.mac?,
            ready: link.has_carrier().is_ok(),
            frames: link
                .frames
                .or_else(|| frames.get(&link.name).copied())
                .unwrap_or_default(),
            dropped_queue: queue_drops.get(&link.index).copied().unwrap_or_default(),
            interface: link.name,
        })
    }
}

pub(crate) fn state() -> Result<GuestStateAnswer, Error> {
    let runtime = links::runtime()?;
    let (present, queue_drops) = runtime.block_on(async {
        let links = Links::open()?;
        Ok::<_, Error>((links.all().await?, links.queue_drops().await?))
    })?;
    let frames = match present.iter().all(|link| link.frames.is_some()) {
        true => HashMap::new(),
        false => counters::read()?,
    };
    let interfaces = present
        .into_iter()
        .filter(|link| !link.is_vlan)
        .filter_map(|link| InterfaceState::of(link, &frames, &queue_drops));
    Ok(GuestStateAnswer {
        interfaces: interfaces.collect(),
        clock_offset_ns: clock_offset_ns()?,
        oom_kills: match kernel::serves_own_kernel() {
            true => oom_kills(&read_vmstat()?),
            false => None,
        },
    })
}

fn clock_offset_ns() -> Result<i64, Error> {
    let read = |clock| -> nix::Result<i64> {
        let now = clock_gettime(clock)?;
        Ok(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
    };
    let offset = || -> nix::Result<i64> {
        Ok(read(ClockId::CLOCK_REALTIME)? - read(ClockId::CLOCK_MONOTONIC)?)
    };
    Ok(offset().context("cannot read the clocks")?)
}

/// Empty where there is no such file: a container need not show it.
fn read_vmstat() -> Result<String, Error> {
    match fs::read_to_string(VMSTAT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => Ok(read.with_context(|| format!("cannot read {VMSTAT}"))?),
    }
}

fn oom_kills(vmstat: &str) -> Option<u64> {
    let count = vmstat
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_for_want_of_memory_are_counted() {
        assert_eq!(
            oom_kills("nr_free_pages 1\noom_kill 3\nnuma_hit 7\n"),
            Some(3)
        );
        assert_eq!(oom_kills("nr_free_pages 1\n"), None);
    }

    #[test]
    fn the_clock_offset_stays() {
        let offsets = [clock_offset_ns().unwrap(), clock_offset_ns().unwrap()];
        assert!(offsets[0].abs_diff(offsets[1]) < 100_000_000);
    }
}
