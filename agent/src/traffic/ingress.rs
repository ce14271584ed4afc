//! Dropping everything at an interface's ingress, to learn how fast a source is when nothing lies
//! behind the link.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bpf::{MapValue, Single, with_libbpf_log};
use super::clsact::IngressFilter;
use super::interface::Interface;
use crate::error::Error;

mod skeleton {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/ingress.skel.rs"));
}

use skeleton::types::arrivals as Arrivals;

// SAFETY: laid out by the skeleton after the BPF program's own type: integers, without padding.
unsafe impl MapValue for Arrivals {}

/// `ingress.drop`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressDropParams {
    /// The interfaces at which test frames are dropped.
    pub interfaces: Vec<String>,
}

/// `ingress.release`: what arrived meanwhile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IngressReleaseAnswer {
    /// The interfaces in the order of the params.
    pub interfaces: Vec<DroppedAtInterface>,
}

/// Test frames dropped at one interface, the segments of super-packets counted each.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DroppedAtInterface {
    /// The name of the interface.
    pub interface: String,
    /// How many frames were dropped.
    pub frames: u64,
    /// CLOCK_MONOTONIC at the first and last arrival; null when there was none.
    pub first_ns: Option<u64>,
    /// The last arrival, CLOCK_MONOTONIC in ns.
    pub last_ns: Option<u64>,
}

/// Interfaces whose whole ingress is dropped. Dropping this value lets their traffic in again.
#[derive(Debug)]
pub struct IngressDrop {
    interfaces: Vec<Dropping>,
}

#[derive(Debug)]
struct Dropping {
    interface: String,
    arrivals: Single<Arrivals>,
    filter: IngressFilter,
}

impl IngressDrop {
    /// Drops at every interface, or at none.
    pub fn open(params: &IngressDropParams) -> Result<Self, Error> {
        if params.interfaces.is_empty() {
            return Err(Error::params("interfaces", "names no interface"));
        }
        let mut interfaces: Vec<Dropping> = Vec::new();
        for (position, name) in params.interfaces.iter().enumerate() {
            let field = format!("interfaces[{position}]");
            if interfaces.iter().any(|other| other.interface == *name) {
                return Err(Error::params(field, format!("`{name}` is named twice")));
            }
            interfaces.push(Dropping::attach(&Interface::find(&field, name)?)?);
        }
        Ok(Self { interfaces })
    }

    /// Lets the traffic in again and reports what was dropped.
    pub fn release(self) -> Result<IngressReleaseAnswer, Error> {
        let released: Vec<_> = self.interfaces.into_iter().map(Dropping::release).collect();
        Ok(IngressReleaseAnswer {
            interfaces: released.into_iter().collect::<anyhow::Result<_>>()?,
        })
    }
}

impl Dropping {
    fn attach(interface: &Interface) -> anyhow::Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let program = with_libbpf_log("the kernel refuses the ingress drop's BPF program", || {
            skeleton::IngressSkelBuilder::default()
                .open(&mut storage)?
                .load()
        })?;
        Ok(Self {
            interface: interface.name.clone(),
            arrivals: Single::new(&program.maps.ingress_arrivals)?,
            filter: IngressFilter::attach(interface, program.progs.ingress_drop.as_fd())?,
        })
    }

    fn release(self) -> anyhow::Result<DroppedAtInterface> {
        self.filter.detach()?;
        dropped(self.interface, &self.arrivals)
    }
}

fn dropped(interface: String, arrivals: &Single<Arrivals>) -> anyhow::Result<DroppedAtInterface> {
    let cpus: Vec<_> = arrivals
        .read_per_cpu()?
        .into_iter()
        .filter(|cpu| cpu.frames > 0)
        .collect();
    Ok(DroppedAtInterface {
        interface,
        frames: cpus.iter().map(|cpu| cpu.frames).sum(),
        first_ns: cpus.iter().map(|cpu| cpu.first_ns).min(),
        last_ns: cpus.iter().map(|cpu| cpu.last_ns).max(),
    })
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use libbpf_rs::ProgramInput;

    use super::skeleton::types::__sk_buff;
    use super::*;
    use crate::traffic::testing::{
        SINK, Sender, backlog_drops, comes_about, in_namespace, ip, tc, test_frame,
    };

    const TC_ACT_SHOT: u32 = 2;

    fn dropping() -> IngressDrop {
        IngressDrop::open(&IngressDropParams {
            interfaces: vec![SINK.into()],
        })
        .unwrap()
    }

    #[test]
    #[ignore = "needs root"]
    fn everything_is_dropped_and_test_frames_are_counted() {
        in_namespace(|| {
            let sender = Sender::new();
            let ingress = dropping();
            sender.send(&[0xff; 64]);
            (0..100).for_each(|sequence| sender.send(&test_frame(sequence)));
            let arrivals = || dropped(SINK.into(), &ingress.interfaces[0].arrivals).unwrap();
            // The kernel may deliver them later, from its softirq thread, or have no room: its backlog is a CPU's, for all namespaces.
            let all_came = comes_about(|| arrivals().frames + backlog_drops(SINK) >= 100);
            let statistics = || ip(&["-statistics", "-statistics", "link"]);
            assert!(all_came, "{:?}\n{}", arrivals(), statistics());
            let counted = 100_u64.saturating_sub(backlog_drops(SINK))..=100;
            let reply = ingress.release().unwrap();
            let dropped = &reply.interfaces[0];
            assert_eq!(dropped.interface, SINK);
            assert!(counted.contains(&dropped.frames), "{dropped:?}");
            assert!(dropped.first_ns.is_some() && dropped.first_ns < dropped.last_ns);
            assert!(!tc(&["qdisc", "show", "dev", SINK]).contains("clsact"));
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn nothing_arrived_gives_no_times() {
        in_namespace(|| {
            let dropped = dropping().release().unwrap().interfaces.remove(0);
            assert_eq!(
                (dropped.frames, dropped.first_ns, dropped.last_ns),
                (0, None, None)
            );
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn a_foreign_clsact_stays() {
        in_namespace(|| {
            tc(&["qdisc", "add", "dev", SINK, "clsact"]);
            dropping().release().unwrap();
            drop(dropping());
            assert!(tc(&["qdisc", "show", "dev", SINK]).contains("clsact"));
            assert_eq!(tc(&["filter", "show", "dev", SINK, "ingress"]), "");
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn an_absent_interface_is_named_and_nothing_is_dropped() {
        in_namespace(|| {
            let params = IngressDropParams {
                interfaces: vec![SINK.into(), "absent0".into()],
            };
            let error = IngressDrop::open(&params).unwrap_err().to_string();
            assert!(
                error.starts_with("interfaces[1]: no interface `absent0`"),
                "{error}"
            );
            assert!(!tc(&["qdisc", "show", "dev", SINK]).contains("clsact"));
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn each_segment_of_a_super_packet_counts() {
        let mut storage = MaybeUninit::uninit();
        let program = skeleton::IngressSkelBuilder::default()
            .open(&mut storage)
            .unwrap()
            .load()
            .unwrap();
        for gso_segs in [0u32, 1, 40] {
            let mut context = [0; size_of::<__sk_buff>()];
            context[offset_of!(__sk_buff, gso_segs)..][..4]
                .copy_from_slice(&gso_segs.to_ne_bytes());
            let bytes = test_frame(0);
            let input = ProgramInput {
                data_in: Some(&bytes),
                context_in: Some(&mut context),
                ..Default::default()
            };
            assert_eq!(
                program
                    .progs
                    .ingress_drop
                    .test_run(input)
                    .unwrap()
                    .return_value,
                TC_ACT_SHOT
            );
        }
        let arrivals: Single<Arrivals> = Single::new(&program.maps.ingress_arrivals).unwrap();
        assert_eq!(
            arrivals
                .read_per_cpu()
                .unwrap()
                .iter()
                .map(|cpu| cpu.frames)
                .sum::<u64>(),
            42
        );
    }
}
