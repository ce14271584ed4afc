//! # The queueing discipline that a guest sends through
//!
//! What `tc qdisc replace dev NIC root ...` does, without tc: a guest's image holds the agent alone. Layouts are those of
//! linux/pkt_sched.h.

mod attributes;
mod netem;
mod tbf;

use anyhow::Context;
use nix::errno::Errno;
use rtnetlink::Error as NetlinkError;
use rtnetlink::packet_core::DefaultNla;
use rtnetlink::packet_route::tc::TcAttribute;
use schemars::JsonSchema;
use serde::Deserialize;

use super::links::{self, Link, Links};
use crate::error::Error;
use crate::mac::MacAddress;
use netem::Netem;
use tbf::Tbf;

const TCA_OPTIONS: u16 = 2;

/// `guest.set_egress_qdisc`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuestSetEgressQdiscParams {
    /// The NICs that frames leave by.
    macs: Vec<MacAddress>,
    /// The queueing discipline.
    qdisc: Qdisc,
}

/// A discipline in its own terms.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Qdisc {
    Netem(Netem),
    Tbf(Tbf),
}

/// Replaces the discipline of every NIC named. Doing it again begins with an empty queue.
pub(crate) fn set(params: &GuestSetEgressQdiscParams) -> Result<(), Error> {
    params.qdisc.check()?;
    links::runtime()?.block_on(async {
        let links = Links::open()?;
        let present = links.all().await?;
        for (at, mac) in params.macs.iter().enumerate() {
            let link = present.iter().find(|link| link.is_nic(*mac));
            let link = link.ok_or_else(|| {
                Error::params(
                    format!("macs[{at}]"),
                    format!("no interface has the address {mac}"),
                )
            })?;
            replace(&links, link, &params.qdisc).await?;
        }
        Ok(())
    })
}

async fn replace(links: &Links, link: &Link, qdisc: &Qdisc) -> Result<(), Error> {
    let kind = qdisc.kind();
    let replaced = links.replace_root_qdisc(link, qdisc.attributes()).await;
    Ok(replaced.with_context(|| {
        format!(
            "the kernel here refuses the queueing discipline {kind} on {}",
            link.name
        )
    }).map_err(|error| match error.downcast_ref::<NetlinkError>() {
        Some(NetlinkError::NetlinkError(message)) if message.raw_code() == -(Errno::ENOENT as i32) => error.context(format!(
            "this kernel has no queueing discipline {kind}; load its module sch_{kind}, or take a platform with a kernel of its own"
        )),
        _ => error,
    })?)
}

impl Qdisc {
    fn kind(&self) -> &'static str {
        match self {
            Self::Netem(_) => "netem",
            Self::Tbf(_) => "tbf",
        }
    }

    fn check(&self) -> Result<(), Error> {
        match self {
            Self::Netem(netem) => netem.check(),
            Self::Tbf(tbf) => tbf.check(),
        }
    }

    fn attributes(&self) -> Vec<TcAttribute> {
        let options = match self {
            Self::Netem(netem) => netem.options(),
            Self::Tbf(tbf) => tbf.options(),
        };
        vec![
            TcAttribute::Kind(self.kind().to_owned()),
            TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
        ]
    }
}

#[cfg(test)]
mod tests;
