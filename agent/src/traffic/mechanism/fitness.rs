//! # Which mechanisms an interface is fit for
//!
//! What they send has to meet the interface's queue as frames do, and to leave it as whole frames.

use anyhow::{Context, anyhow};
use futures_util::TryStreamExt;
use rtnetlink::new_connection;
use rtnetlink::packet_route::link::LinkAttribute;
use tokio::runtime::Builder;

use super::name::Name;
use super::pktgen;
use crate::offload;
use crate::traffic::interface::Interface;

/// Queueing disciplines that no one chose: they neither shape nor hold back.
const BY_DEFAULT: [&str; 4] = ["noqueue", "mq", "pfifo_fast", "fq_codel"];

/// The queueing discipline that stands for flow control.
const HOLDS_BACK: &str = "pfifo";

/// With this on, trains would leave uncut.
const SEGMENTATION: &str = "tx-udp-segmentation";
/// With one of these on, frames would leave without their checksum, as a debt of the receiver's.
const CHECKSUMS: [&str; 3] = [
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
];

/// What matters of an interface.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct Fitness {
    interface: String,
    queueing: String,
    offloads: Vec<String>,
    /// Why there is no pktgen; None where there is.
    no_pktgen: Option<String>,
}

impl Fitness {
    pub(in crate::traffic) fn of(interface: &Interface) -> anyhow::Result<Self> {
        let name = &interface.name;
        Ok(Self {
            interface: name.clone(),
            queueing: queueing_of(interface)?,
            offloads: offload::active(name)
                .with_context(|| format!("cannot query the offloads of {name}"))?,
            no_pktgen: pktgen::absence(),
        })
    }

    /// Why the mechanism is not to be used here; None where nothing is against it.
    pub(in crate::traffic) fn refusal(&self, name: Name) -> Option<String> {
        let Self {
            interface,
            queueing,
            ..
        } = self;
        let by_default = BY_DEFAULT.contains(&queueing.as_str());
        match name {
            Name::Raw => None,
            Name::Pktgen if self.no_pktgen.is_some() => self.no_pktgen.clone(),
            Name::AfXdp if self.holds_back() => None,
            Name::AfXdp | Name::Pktgen if !by_default => Some(format!(
                "it would bypass the qdisc `{queueing}` of {interface}"
            )),
            Name::AfXdp | Name::Pktgen => None,
            Name::Gso if self.holds_back() => Some(format!(
                "the qdisc `{queueing}` of {interface} would have trains cut apart on the CPU of whoever holds them back"
            )),
            Name::Gso if !by_default => Some(format!(
                "the qdisc `{queueing}` of {interface} would count a train as one frame"
            )),
            Name::Gso => self.uncut().or_else(|| self.unsummed()),
        }
    }

    /// Whether the interface takes no frame that its far end has no room for, and drops none: flow control. A driver whose
    /// interface has a queue says that it is busy; without one it drops. What waits in the queue itself is sent by whoever makes
    /// room, on the far end's CPU.
    fn holds_back(&self) -> bool {
        self.queueing == HOLDS_BACK
    }

    fn uncut(&self) -> Option<String> {
        let on = self.offloads.iter().any(|offload| offload == SEGMENTATION);
        let interface = &self.interface;
        on.then(|| {
            format!("{SEGMENTATION} of {interface} is on: trains would leave uncut; switch it off")
        })
    }

    fn unsummed(&self) -> Option<String> {
        let on = |offload: &&String| CHECKSUMS.contains(&offload.as_str());
        let interface = &self.interface;
        self.offloads.iter().find(on).map(|offload| {
            format!(
                "{offload} of {interface} is on: frames would leave without their checksum; switch it off"
            )
        })
    }
}

/// Name of the interface's queueing discipline.
fn queueing_of(interface: &Interface) -> anyhow::Result<String> {
    let name = &interface.name;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the netlink runtime")?;
    let link = runtime.block_on(async {
        let (connection, handle, _) = new_connection().context("cannot open a netlink socket")?;
        tokio::spawn(connection);
        let links = handle.link().get().match_index(interface.index as u32);
        let found = links.execute().try_next().await;
        found
            .with_context(|| format!("cannot query {name}"))?
            .with_context(|| format!("{name} is gone"))
    })?;
    link.attributes
        .into_iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::Qdisc(queueing) => Some(queueing),
            _ => None,
        })
        .ok_or_else(|| anyhow!("the kernel names no queueing discipline of {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::testing::{SOURCE, in_namespace, tc};

    fn fitness(queueing: &str, offloads: &[&str]) -> Fitness {
        Fitness {
            interface: "src0".into(),
            queueing: queueing.into(),
            offloads: offloads.iter().map(|&offload| offload.to_owned()).collect(),
            no_pktgen: None,
        }
    }

    #[test]
    fn what_would_be_no_frame_in_the_queue_or_on_the_link_is_refused() {
        let refused = |queueing: &str, offloads: &[&str]| {
            let fitness = fitness(queueing, offloads);
            let names = Name::ALL.into_iter();
            names
                .filter(|&name| fitness.refusal(name).is_some())
                .collect::<Vec<_>>()
        };
        assert_eq!(refused("noqueue", &["tx-nocache-copy"]), []);
        assert_eq!(refused("fq_codel", &[]), []);
        assert_eq!(refused("pfifo", &[]), [Name::Gso, Name::Pktgen]);
        assert_eq!(refused("tbf", &[]), [Name::Gso, Name::AfXdp, Name::Pktgen]);
        for offload in [&[SEGMENTATION], &CHECKSUMS[..]].concat() {
            assert_eq!(refused("noqueue", &[offload]), [Name::Gso]);
        }
    }

    #[test]
    fn a_refusal_names_the_interface_and_what_is_in_the_way() {
        let reason = fitness("tbf", &[]).refusal(Name::Gso).unwrap();
        assert_eq!(
            reason,
            "the qdisc `tbf` of src0 would count a train as one frame"
        );
        let reason = fitness("noqueue", &[SEGMENTATION])
            .refusal(Name::Gso)
            .unwrap();
        assert!(
            reason.starts_with("tx-udp-segmentation of src0 is on"),
            "{reason}"
        );
    }

    #[test]
    fn a_kernel_without_pktgen_says_what_brings_it() {
        let fitness = Fitness {
            no_pktgen: Some("modprobe pktgen".into()),
            ..fitness("tbf", &[])
        };
        assert_eq!(fitness.refusal(Name::Pktgen).unwrap(), "modprobe pktgen");
    }

    #[test]
    #[ignore = "needs root"]
    fn an_interface_is_read_as_it_stands() {
        in_namespace(|| {
            let interface = Interface::find("interface", SOURCE).unwrap();
            let before = Fitness::of(&interface).unwrap();
            assert_eq!(before.queueing, "noqueue");
            assert!(before.offloads.contains(&SEGMENTATION.to_owned()));
            tc(&["qdisc", "add", "dev", SOURCE, "root", "pfifo"]);
            assert_eq!(Fitness::of(&interface).unwrap().queueing, "pfifo");
        });
    }
}
