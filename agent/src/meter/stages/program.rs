//! The BPF programs of the hooks: whether the kernel has what they need, loading and attaching them.

use std::collections::BTreeSet;
use std::fs;
use std::mem::MaybeUninit;

use anyhow::{Context, anyhow};
use libbpf_rs::btf::{Btf, types::Typedef};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, OpenObject};

use super::hook::Hook;
use super::skeleton::{StagesSkel, StagesSkelBuilder, Tally, Window};
use super::table::Table;
use super::wire::{Follow, HookState, StagesOpenParams};
use crate::traffic::bpf::{MapValue, Single, with_libbpf_log};

/// Attached to tracepoints whose arguments have the kernel's own types.
pub(super) const ATTACH: &str = "tp_btf";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// What the programs write to, and what keeps them attached.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) window: Single<Window>,
    pub(super) tally: Single<Tally>,
    pub(super) filed: MapHandle,
    pub(super) packets: MapHandle,
    pub(super) costs: MapHandle,
    _links: Vec<Link>,
}

/// Whether the kernel takes the programs of all hooks that it has; none is attached.
pub(super) fn probe() -> anyhow::Result<Vec<HookState>> {
    let hooks = present(Hook::ALL)?;
    let found = hooks.iter().filter(|hook| hook.missing.is_none());
    let params = StagesOpenParams {
        trails: Vec::new(),
        sample_every: 1,
        follow: Follow::Headers,
        packets: 0,
    };
    let found = found.map(|hook| hook.hook).collect();
    load(
        &mut MaybeUninit::uninit(),
        &Table::default(),
        &found,
        &params,
        1,
    )?;
    Ok(hooks)
}

/// Which hooks this kernel has.
pub(super) fn present(hooks: impl IntoIterator<Item = Hook>) -> anyhow::Result<Vec<HookState>> {
    let btf = with_libbpf_log(
        "stages take a kernel that describes its types",
        Btf::from_vmlinux,
    )
    .context("needs Linux 5.17 or later with CONFIG_DEBUG_INFO_BTF")?;
    let lacks = |tracepoint: &&&str| {
        let wanted = format!("btf_trace_{tracepoint}");
        btf.type_by_name::<Typedef<'_>>(&wanted).is_none()
    };
    let reply = |hook: Hook| HookState {
        hook,
        tracepoints: hook.tracepoints(),
        missing: hook
            .tracepoints()
            .iter()
            .find(lacks)
            .map(|tracepoint| format!("this kernel has no tracepoint {tracepoint}")),
    };
    Ok(hooks.into_iter().map(reply).collect())
}

impl Loaded {
    /// Loads the programs that `table` needs, and watches from now on; nothing is followed before the window begins.
    pub(super) fn load(
        table: &Table,
        params: &StagesOpenParams,
        marks: u32,
    ) -> anyhow::Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let program = load(&mut storage, table, &table.hooks(), params, marks)?;
        let (_, entries) = table.placed();
        for (number, entry) in entries.into_iter().enumerate() {
            let place = table.kernel_place(number);
            let put = program.maps.stages_places.update(
                &entry.to_ne_bytes(),
                place.bytes(),
                MapFlags::ANY,
            );
            put.context("cannot write BPF map stages_places")?;
        }
        let mut links = Vec::new();
        for program in program
            .object()
            .progs_mut()
            .filter(|program| program.autoload())
        {
            let what = format!("cannot attach to the tracepoint of {:?}", program.name());
            links.push(with_libbpf_log(&what, || program.attach_trace())?);
        }
        let handle = |map| MapHandle::try_from(map).context("BPF map");
        Ok(Self {
            window: Single::new(&program.maps.stages_window)?,
            tally: Single::new(&program.maps.stages_tally)?,
            filed: handle(&program.maps.stages_filed)?,
            packets: handle(&program.maps.stages_packets)?,
            costs: handle(&program.maps.stages_costs)?,
            _links: links,
        })
    }
}

fn load<'a>(
    storage: &'a mut MaybeUninit<OpenObject>,
    table: &Table,
    hooks: &BTreeSet<Hook>,
    params: &StagesOpenParams,
    marks: u32,
) -> anyhow::Result<StagesSkel<'a>> {
    let loaded = with_libbpf_log("the kernel refuses the BPF programs of stages", || {
        let mut open = StagesSkelBuilder::default().open(storage)?;
        let wanted: BTreeSet<String> = hooks
            .iter()
            .flat_map(|hook| hook.tracepoints())
            .map(|tracepoint| format!("stages_{tracepoint}"))
            .collect();
        for mut program in open.open_object_mut().progs_mut() {
            let autoload = wanted.contains(&*program.name().to_string_lossy());
            program.set_autoload(autoload);
        }
        open.maps.stages_marks.set_max_entries(marks)?;
        open.maps
            .stages_filed
            .set_max_entries(table.entries().max(1) as u32)?;
        open.maps
            .stages_packets
            .set_max_entries(params.packets.max(1))?;
        let constants = open
            .maps
            .rodata_data
            .as_deref_mut()
            .expect("the programs have constants");
        constants.points = table.kernel_points();
        constants.trails = table.kernel_trails();
        (constants.place_factor, _) = table.placed();
        constants.last_mark = marks - 1;
        constants.sampled_below = u32::MAX / params.sample_every;
        constants.kept_packets = params.packets;
        constants.follow = (params.follow == Follow::Headers).into();
        constants.write_calls = [libc::SYS_write, libc::SYS_writev];
        open.load()
    });
    loaded.map_err(explained)
}

/// Adds the likely cause and what to do about it.
fn explained(error: anyhow::Error) -> anyhow::Error {
    let lockdown = fs::read_to_string(LOCKDOWN).unwrap_or_default();
    let remedy = match lockdown.contains("[confidentiality]") {
        true => {
            "the kernel is locked down to keep its memory confidential; boot it with lockdown=integrity or none"
        }
        false => "it takes root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
    };
    anyhow!("{remedy}: {error:#}")
}
