//! What the programs have written, as replies.

use anyhow::Context;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::hook::Hook;
use super::program::Loaded;
use super::skeleton::{Cost, Filed, Packet, Tally};
use super::table::{NumberedTrail, Table};
use super::wire::{
    Delays, FollowedFrames, FollowedPacket, HookCost, PointFrames, StageDelays,
    StagesCollectAnswer, StagesPacketsAnswer,
};
use crate::traffic::bpf::MapValue;
use crate::traffic::sink::histogram::durations;

/// With the total's, eight histograms fit into a line.
const STAGES_PER_REPLY: usize = 7;
/// Twelve times each, and the rest.
const PACKETS_PER_REPLY: u32 = 150;

/// One trail, its stages from the `first` on.
pub(super) fn trail(
    loaded: &Loaded,
    table: &Table,
    trail: &NumberedTrail,
    first: usize,
) -> anyhow::Result<StagesCollectAnswer> {
    let tally = loaded.tally.read()?;
    let stages = trail.stages.iter().enumerate().skip(first);
    let stage = |(at, name): (usize, &String)| {
        let name = name.clone();
        let delays = delays(loaded, trail.first_filed + 1 + at)?;
        Ok(StageDelays { name, delays })
    };
    let point = |&number: &usize| {
        let (hook, site) = table.points[number];
        PointFrames {
            hook,
            interface: table.sites[site].interface.clone(),
            frames: tally.passed[number],
        }
    };
    let gone = table.sites.iter().filter(|site| site.is_gone());
    Ok(StagesCollectAnswer {
        name: trail.name.clone(),
        frames: frames(&tally),
        hooks: costs(loaded, table)?,
        gone: gone.map(|site| site.interface.clone()).collect(),
        points: trail.points.iter().map(point).collect(),
        total: delays(loaded, trail.first_filed)?,
        stages: stages
            .take(STAGES_PER_REPLY)
            .map(stage)
            .collect::<anyhow::Result<_>>()?,
    })
}

/// Kept packets from the `first` on, of at most `most`.
pub(super) fn packets(
    loaded: &Loaded,
    table: &Table,
    first: u32,
    most: u32,
) -> anyhow::Result<StagesPacketsAnswer> {
    let kept = loaded.tally.read()?.kept.min(most.into()) as u32;
    let mut packets = Vec::new();
    for place in (first..kept).take(PACKETS_PER_REPLY as usize) {
        let packet = Packet::of(&entry(&loaded.packets, place)?)?;
        if packet.complete == 0 {
            break; // it is being written
        }
        let count = table.trails[packet.trail as usize].points.len();
        packets.push(FollowedPacket {
            trail: packet.trail,
            identity: format!("{:016x}", packet.identity),
            at_ns: packet.at_ns[..count].to_vec(),
        });
    }
    Ok(StagesPacketsAnswer { kept, packets })
}

fn frames(tally: &Tally) -> FollowedFrames {
    let accounted = tally.attributed + tally.lost_events;
    FollowedFrames {
        followed: tally.followed,
        attributed: tally.attributed,
        unattributed: tally.followed.saturating_sub(accounted),
        lost_events: tally.lost_events,
    }
}

fn delays(loaded: &Loaded, place: usize) -> anyhow::Result<Delays> {
    let filed = Filed::of(&entry(&loaded.filed, place as u32)?)?;
    let mut durations = durations(&filed.buckets)?;
    durations.mean_ns = (durations.count > 0).then(|| filed.sum_ns as f64 / durations.count as f64);
    Ok(Delays {
        sum_ns: filed.sum_ns,
        durations,
    })
}

fn costs(loaded: &Loaded, table: &Table) -> anyhow::Result<Vec<HookCost>> {
    table
        .hooks()
        .into_iter()
        .map(|hook| cost(loaded, hook))
        .collect()
}

fn cost(loaded: &Loaded, hook: Hook) -> anyhow::Result<HookCost> {
    let key = (hook as u32).to_ne_bytes();
    let found = loaded.costs.lookup_percpu(&key, MapFlags::ANY);
    let cpus = found
        .context("cannot read BPF map stages_costs")?
        .with_context(|| format!("no cost of {hook:?}"))?;
    let mut sum = Cost::default();
    for bytes in &cpus {
        let cost = Cost::of(bytes)?;
        sum.hits += cost.hits;
        sum.timed += cost.timed;
        sum.timed_ns += cost.timed_ns;
    }
    Ok(HookCost {
        hook,
        hits: sum.hits,
        ns: (sum.timed > 0).then(|| sum.timed_ns as f64 / sum.timed as f64),
    })
}

fn entry(map: &MapHandle, place: u32) -> anyhow::Result<Vec<u8>> {
    map.lookup(&place.to_ne_bytes(), MapFlags::ANY)
        .with_context(|| format!("cannot read BPF map {:?}", map.name()))?
        .with_context(|| format!("no entry {place} in BPF map {:?}", map.name()))
}
