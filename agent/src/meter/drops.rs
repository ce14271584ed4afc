//! # Drops: frames that this kernel let go of, and why it says it did
//!
//! One BPF program at the tracepoint `kfree_skb` counts for all network namespaces of a path. Like the tracepoint it is of this
//! kernel, whoever's agent opens it. It is gone when its link's last descriptor closes, as a killed agent's is.

use std::collections::HashMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;

use anyhow::Context;
use libbpf_rs::btf::{Btf, types::Enum};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::bounds::{MOST_DROP_NAMESPACES, MOST_DROP_PLACES};
use crate::api::values::{List, Whole};
use crate::error::Error;
use crate::traffic::bpf::{MapValue, Single, with_libbpf_log};

mod skeleton {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/drops.skel.rs"));
}

use skeleton::types::{bss as Outside, dropped as Dropped, place as Place};

// SAFETY: laid out by the skeleton after the BPF program's own types: integers, without padding.
unsafe impl MapValue for Outside {}
unsafe impl MapValue for Dropped {}
unsafe impl MapValue for Place {}

/// What the kernel says when it says nothing; a sink's own drops have no other reason.
const NOT_SPECIFIED: &str = "NOT_SPECIFIED";
const PREFIX: &str = "SKB_DROP_REASON_";

/// `drops.open`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DropsOpenParams {
    /// Inode numbers of the network namespaces to look at.
    namespaces: List<u32, 1, MOST_DROP_NAMESPACES>,
    /// How many places are counted apart; frames dropped at further ones are lost events.
    places: Whole<u32, 1, MOST_DROP_PLACES>,
    /// Which dropped frames count.
    #[serde(default)]
    frames: DroppedFrames,
}

/// Which dropped frames count.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DroppedFrames {
    /// Test frames; but for those that a sink consumes.
    #[default]
    Test,
    Any,
}

/// `drops.read`: everything since `drops.open`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DropsReadAnswer {
    /// The places at which frames were dropped.
    places: Vec<DropPlace>,
    /// Dropped frames that were not counted: there was no room for their place.
    lost_events: u64,
}

/// DroppedFrames dropped at one interface for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct DropPlace {
    /// Inode number of the network namespace.
    netns: u32,
    /// The name of the interface.
    interface: String,
    /// Whether the interface had received the frames; otherwise they were on their way out of it, or into it.
    arrived: bool,
    /// The kernel's name, without its prefix; a number where it has none.
    reason: String,
    /// How many frames were dropped.
    frames: u64,
}

/// The meter at work; dropping it takes it off.
#[derive(Debug)]
pub(crate) struct Drops {
    reasons: HashMap<u32, String>,
    places: MapHandle,
    outside: Single<Outside>,
    _link: Link,
}

impl Drops {
    /// Counts from now on. The frames that a sink in this thread's namespace consumes are none that were dropped.
    pub(crate) fn open(params: &DropsOpenParams) -> Result<Self, Error> {
        Ok(Self::load(params)?)
    }

    fn load(params: &DropsOpenParams) -> anyhow::Result<Self> {
        let reasons = reasons()?;
        let not_specified = reasons
            .iter()
            .find_map(|(&number, name)| (name == NOT_SPECIFIED).then_some(number))
            .context("the kernel has no drop reason for none; needs Linux 5.17 or later")?;
        let own = fs::metadata("/proc/thread-self/ns/net").context("which namespace this is")?;
        let mut storage = MaybeUninit::uninit();
        let program = with_libbpf_log("the kernel refuses the drop meter's BPF program", || {
            let mut open = skeleton::DropsSkelBuilder::default().open(&mut storage)?;
            open.maps
                .drops_places
                .set_max_entries(params.places.get())?;
            let namespaces = params.namespaces.len() as u32;
            open.maps.drops_netns.set_max_entries(namespaces)?;
            let constants = open
                .maps
                .rodata_data
                .as_deref_mut()
                .expect("the program has constants");
            constants.sink_netns = own.ino() as u32;
            constants.not_specified = not_specified;
            constants.any_frames = params.frames == DroppedFrames::Any;
            open.load()
        })?;
        for netns in params.namespaces.iter() {
            let netns = netns.to_ne_bytes();
            let put = program.maps.drops_netns.update(&netns, &[1], MapFlags::ANY);
            put.context("cannot write BPF map drops_netns")?;
        }
        let link = with_libbpf_log("cannot attach to the tracepoint kfree_skb", || {
            program.progs.drops_count.attach_trace()
        })?;
        Ok(Self {
            reasons,
            places: MapHandle::try_from(&program.maps.drops_places).context("BPF map")?,
            outside: Single::new(&program.maps.bss)?,
            _link: link,
        })
    }

    pub(crate) fn read(&self) -> Result<DropsReadAnswer, Error> {
        let mut places = Vec::new();
        for key in self.places.keys() {
            let counted = self.places.lookup(&key, MapFlags::ANY);
            if let Some(value) = counted.context("cannot read BPF map drops_places")? {
                places.push(self.place(Place::of(&key)?, Dropped::of(&value)?));
            }
        }
        let lost_events = self.outside.read()?.lost_events;
        Ok(DropsReadAnswer {
            places,
            lost_events,
        })
    }

    fn place(&self, place: Place, dropped: Dropped) -> DropPlace {
        let name = dropped.interface.iter().take_while(|&&byte| byte != 0);
        let reason = self.reasons.get(&place.reason).cloned();
        DropPlace {
            netns: place.netns,
            interface: String::from_utf8_lossy(&name.map(|&byte| byte as u8).collect::<Vec<_>>())
                .into_owned(),
            arrived: place.arrived != 0,
            reason: reason.unwrap_or_else(|| place.reason.to_string()),
            frames: dropped.frames,
        }
    }
}

/// The running kernel's drop reasons by number, from its BTF.
fn reasons() -> anyhow::Result<HashMap<u32, String>> {
    let btf = with_libbpf_log("cannot read the kernel's BTF", Btf::from_vmlinux)?;
    let known: Enum<'_> = btf
        .type_by_name("skb_drop_reason")
        .context("the kernel gives no reason for drops; needs Linux 5.17 or later")?;
    Ok(known
        .iter()
        .filter_map(|reason| {
            let name = reason.name?.to_str()?;
            let name = name.strip_prefix(PREFIX).unwrap_or(name);
            Some((reason.value as u32, name.to_owned()))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use crate::traffic::ingress::{IngressDrop, IngressDropParams};
    use crate::traffic::testing::{SINK, Sender, in_namespace, test_frame, wait_until};
    use serde_json::json;

    fn dropped(drops: &Drops) -> Vec<(String, bool, String, u64)> {
        let places = drops.read().unwrap().places.into_iter();
        places
            .map(|place| (place.interface, place.arrived, place.reason, place.frames))
            .collect()
    }

    /// Looks at this thread's namespace.
    fn meter(places: u32, frames: &str) -> Drops {
        let own = fs::metadata("/proc/thread-self/ns/net").unwrap().ino() as u32;
        let params = json!({"namespaces": [own], "places": places, "frames": frames});
        Drops::open(&read_value(params).unwrap()).unwrap()
    }

    fn drop_all() -> IngressDrop {
        let interfaces = vec![SINK.to_owned()];
        IngressDrop::open(&IngressDropParams { interfaces }).unwrap()
    }

    #[test]
    #[ignore = "needs root"]
    fn a_dropped_test_frame_is_counted_with_its_reason() {
        in_namespace(|| {
            let (sender, drops, _ingress) = (Sender::new(), meter(64, "test"), drop_all());
            sender.send(&[0xff; 64]);
            (0..100).for_each(|sequence| sender.send(&test_frame(sequence)));
            let expected = [(SINK.to_owned(), true, "TC_INGRESS".to_owned(), 100)];
            wait_until(|| dropped(&drops) == expected);
            assert_eq!(drops.read().unwrap().lost_events, 0);
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn other_peoples_frames_count_where_any_do() {
        in_namespace(|| {
            let (sender, drops, _ingress) = (Sender::new(), meter(64, "any"), drop_all());
            let other = [[0xff; 14].as_slice(), &[0; 50]].concat();
            (0..10).for_each(|_| sender.send(&other));
            let expected = (SINK.to_owned(), true, "TC_INGRESS".to_owned(), 10);
            wait_until(|| dropped(&drops).contains(&expected));
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn what_the_map_has_no_room_for_is_told() {
        in_namespace(|| {
            let (sender, drops, ingress) = (Sender::new(), meter(1, "test"), drop_all());
            (0..10).for_each(|sequence| sender.send(&test_frame(sequence)));
            wait_until(|| dropped(&drops).len() == 1);
            drop(ingress);
            // They are for another's MAC: dropped further on, for that reason.
            (0..10).for_each(|sequence| sender.send(&test_frame(sequence)));
            wait_until(|| drops.read().unwrap().lost_events > 0);
            assert_eq!(drops.read().unwrap().places.len(), 1);
        });
    }

    #[test]
    fn names_are_the_kernels_own() {
        let names: Vec<_> = reasons().unwrap().into_values().collect();
        for name in [NOT_SPECIFIED, "QDISC_DROP", "TC_EGRESS", "FULL_RING"] {
            assert!(names.contains(&name.to_owned()), "{name}");
        }
    }

    #[test]
    fn places_and_namespaces_are_bounded() {
        for (namespaces, places, field) in [
            (1, 0, "places: "),
            (1, 401, "places: "),
            (0, 1, "namespaces: "),
            (65, 1, "namespaces: "),
        ] {
            let namespaces = vec![1; namespaces];
            let params = json!({"namespaces": namespaces, "places": places});
            let error = read_value::<DropsOpenParams>(params).unwrap_err();
            assert!(error.to_string().starts_with(field), "{error}");
        }
    }
}
