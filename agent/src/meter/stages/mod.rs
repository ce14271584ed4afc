//! # Stages: where on its way through this kernel a frame's delay arises
//!
//! BPF programs at tracepoints note when a frame passes points of its way, which is data: `stages.open` says which hook at which
//! interface, in whatever network namespace, and which of them are a trail. A frame is known by its stamp, or by what its headers
//! keep on every hop, and so also behind a guest that forwards it. Its stages are filed when it has gone a whole trail:
//! they add up to the trail's total, of every frame and of all. Like the tracepoints the meter is of this kernel, whoever's agent
//! opens it. It changes nothing, and is gone when its links' last descriptors close, as a killed agent's are.

mod collect;
mod hook;
mod program;
mod site;
mod skeleton;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::api::bounds::{GREATEST_SAMPLE_EVERY, MOST_PACKETS};
use crate::api::values::check_whole;
use crate::error::Error;
use crate::traffic::bpf::await_running_programs;
use crate::traffic::clock::now_ns;
use hook::Hook;
use program::{ATTACH, Loaded};
use skeleton::{Cost, Filed, Packet, Window};
use table::Table;
use wire::Follow;
pub(crate) use wire::{
    StagesArmParams, StagesCollectAnswer, StagesCollectParams, StagesOpenParams,
    StagesPacketsAnswer, StagesPacketsParams, StagesProbeAnswer,
};

/// Places for frames under way, and for those that went another way and are still waited for; a power of two.
const MARKS: u32 = 8192;

/// What this kernel lets us watch.
pub(crate) fn probe() -> Result<StagesProbeAnswer, Error> {
    Ok(StagesProbeAnswer {
        attach: ATTACH,
        hooks: program::probe()?,
    })
}

/// The meter at work; dropping it takes it off.
#[derive(Debug)]
pub(crate) struct Stages {
    table: Table,
    packets: u32,
    loaded: Loaded,
}

impl Stages {
    /// Follows frames from now on.
    pub(crate) fn open(params: &StagesOpenParams) -> Result<(Self, StagesProbeAnswer), Error> {
        Self::with_marks(params, MARKS)
    }

    fn with_marks(
        params: &StagesOpenParams,
        marks: u32,
    ) -> Result<(Self, StagesProbeAnswer), Error> {
        check_whole(
            "sample_every",
            params.sample_every,
            1..=GREATEST_SAMPLE_EVERY,
        )?;
        check_whole("packets", params.packets, 0..=MOST_PACKETS)?;
        let table = Table::of(params)?;
        if params.follow == Follow::Headers && table.hooks().contains(&Hook::Due) {
            let problem = "headers do not tell when a frame was `due`; follow `stamp`, or leave that hook out";
            return Err(Error::params("follow", problem));
        }
        let hooks = program::present(table.hooks())?;
        if let Some(missing) = hooks.iter().find_map(|hook| hook.missing.as_ref()) {
            return Err(anyhow::anyhow!("{missing}; leave the trails that need it out").into());
        }
        let loaded = Loaded::load(&table, params, marks)?;
        loaded.window.write(&Window {
            start_ns: now_ns(),
            end_ns: u64::MAX,
        })?;
        let attach = ATTACH;
        let stages = Self {
            table,
            packets: params.packets,
            loaded,
        };
        Ok((stages, StagesProbeAnswer { attach, hooks }))
    }

    /// Forgets what was filed, and follows the frames of a window.
    pub(crate) fn arm(&self, params: &StagesArmParams) -> Result<(), Error> {
        let start_ns = now_ns() + (params.delay_s.get() * 1e9) as u64;
        let end_ns = start_ns + (params.duration_s.get() * 1e9) as u64;
        Ok(self.follow_from(Window { start_ns, end_ns })?)
    }

    fn follow_from(&self, window: Window) -> anyhow::Result<()> {
        let kept = self.loaded.tally.read()?.kept.min(self.packets.into()) as u32;
        self.loaded.window.zero()?;
        await_running_programs()?;
        self.loaded.tally.zero()?;
        clear(&self.loaded.packets, kept, size_of::<Packet>())?;
        let entries = self.table.entries() as u32;
        clear(&self.loaded.filed, entries, size_of::<Filed>())?;
        for hook in self.table.hooks() {
            let nothing = vec![vec![0; size_of::<Cost>()]; libbpf_rs::num_possible_cpus()?];
            let key = (hook as u32).to_ne_bytes();
            self.loaded
                .costs
                .update_percpu(&key, &nothing, MapFlags::ANY)?;
        }
        self.loaded.window.write(&window)
    }

    /// What one trail's frames have told.
    pub(crate) fn collect(
        &self,
        params: &StagesCollectParams,
    ) -> Result<StagesCollectAnswer, Error> {
        let trails = &self.table.trails;
        let Some(trail) = trails.get(params.trail) else {
            let problem = format!(
                "{} of {} trails, counted from 0",
                params.trail,
                trails.len()
            );
            return Err(Error::params("trail", problem));
        };
        Ok(collect::trail(
            &self.loaded,
            &self.table,
            trail,
            params.first,
        )?)
    }

    /// The times of single packets.
    pub(crate) fn packets(
        &self,
        params: &StagesPacketsParams,
    ) -> Result<StagesPacketsAnswer, Error> {
        let (first, most) = (params.first, self.packets);
        Ok(collect::packets(&self.loaded, &self.table, first, most)?)
    }
}

fn clear(map: &MapHandle, entries: u32, value_bytes: usize) -> anyhow::Result<()> {
    for place in 0..entries {
        map.update(&place.to_ne_bytes(), &vec![0; value_bytes], MapFlags::ANY)?;
    }
    Ok(())
}
