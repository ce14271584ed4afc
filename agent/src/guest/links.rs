//! # Network interfaces through rtnetlink

use std::collections::HashMap;
use std::net::IpAddr;

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt};
use nix::errno::Errno;
use rtnetlink::packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use rtnetlink::{Handle, LinkUnspec, LinkVlan, RouteMessageBuilder, new_connection};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;
use crate::mac::MacAddress;

/// Of every namespace's first interface.
const LOOPBACK_INDEX: u32 = 1;

/// What netlink requests run in.
pub(super) fn runtime() -> Result<Runtime, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("cannot start the netlink runtime")?)
}

/// A network interface as it was when it was listed.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) name: String,
    pub(super) mac: Option<MacAddress>,
    /// None where the kernel's messages have no counters.
    pub(super) frames: Option<Frames>,
    pub(super) index: u32,
    mtu: u32,
    /// For the frames of one VLAN, of another link here that has the same address.
    pub(super) is_vlan: bool,
    is_up: bool,
    /// Up and with a carrier.
    is_running: bool,
}

/// Totals since the interface was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(super) struct Frames {
    /// Frames received.
    #[schemars(range(max = i64::MAX))]
    pub(super) received: u64,
    /// Frames sent.
    #[schemars(range(max = i64::MAX))]
    pub(super) sent: u64,
    /// Dropped on their way in: no room in the ring, no memory, no receiver.
    #[schemars(range(max = i64::MAX))]
    pub(super) dropped_in: u64,
    /// Dropped by the driver on their way out.
    #[schemars(range(max = i64::MAX))]
    pub(super) dropped_out: u64,
}

impl From<Stats64> for Frames {
    fn from(stats: Stats64) -> Self {
        Self {
            received: stats.rx_packets,
            sent: stats.tx_packets,
            dropped_in: stats.rx_dropped + stats.rx_missed_errors,
            dropped_out: stats.tx_dropped,
        }
    }
}

impl Link {
    /// Whether it is the NIC of this address, not a VLAN's link on it.
    pub(super) fn is_nic(&self, mac: MacAddress) -> bool {
        self.mac == Some(mac) && !self.is_vlan
    }

    pub(super) fn has_carrier(&self) -> Result<(), &'static str> {
        match (self.is_up, self.is_running) {
            (false, _) => Err("went down again"),
            (true, false) => Err("no carrier"),
            (true, true) => Ok(()),
        }
    }
}

impl From<LinkMessage> for Link {
    fn from(message: LinkMessage) -> Self {
        let mut link = Self {
            name: String::new(),
            mac: None,
            frames: None,
            index: message.header.index,
            mtu: 0,
            is_vlan: false,
            is_up: message.header.flags.contains(LinkFlags::Up),
            is_running: message.header.flags.contains(LinkFlags::LowerUp),
        };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::Address(bytes) => link.mac = bytes.try_into().ok().map(MacAddress),
                LinkAttribute::Mtu(mtu) => link.mtu = mtu,
                LinkAttribute::Stats64(stats) => link.frames = Some(stats.into()),
                LinkAttribute::LinkInfo(infos) => {
                    link.is_vlan = infos.contains(&LinkInfo::Kind(InfoKind::Vlan));
                }
                _ => {}
            }
        }
        link
    }
}

/// The interfaces of this thread's network namespace.
pub(super) struct Links(Handle);

impl Links {
    /// Within a tokio runtime only.
    pub(super) fn open() -> Result<Self, Error> {
        let (connection, handle, _) = new_connection().context("cannot open a netlink socket")?;
        tokio::spawn(connection);
        Ok(Self(handle))
    }

    pub(super) async fn all(&self) -> Result<Vec<Link>, Error> {
        let messages = self.0.link().get().execute();
        let links = messages.map_ok(Link::from).try_collect().await;
        Ok(links.context("cannot list the network interfaces")?)
    }

    /// Frames that each interface's own queueing discipline has dropped, by the interface's index; none where there are no
    /// queueing disciplines.
    pub(super) async fn queue_drops(&self) -> Result<HashMap<u32, u64>, Error> {
        let listed = self.0.qdisc().get().execute().try_collect().await;
        let messages: Vec<TcMessage> = match listed {
            Err(refused) if is_unknown(&refused) => Vec::new(),
            listed => listed.context("cannot list the queueing disciplines")?,
        };
        let roots = messages
            .iter()
            .filter(|message| message.header.parent == TcHandle::ROOT);
        Ok(roots
            .map(|root| (root.header.index as u32, drops_of(root)))
            .collect())
    }

    /// Puts a queueing discipline in the place of the link's own; `attributes` are its kind and options.
    pub(super) async fn replace_root_qdisc(
        &self,
        link: &Link,
        attributes: Vec<TcAttribute>,
    ) -> Result<(), rtnetlink::Error> {
        let mut message = TcMessage::with_index(link.index as i32);
        message.header.parent = TcHandle::ROOT;
        message.attributes = attributes;
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        let mut replies = self.0.clone().request(request)?;
        while let Some(reply) = replies.next().await {
            if let NetlinkPayload::Error(refused) = reply.payload {
                return Err(rtnetlink::Error::NetlinkError(refused));
            }
        }
        Ok(())
    }

    pub(super) async fn set_up(&self, link: &Link, mtu: u32) -> Result<(), Error> {
        if link.is_up && link.mtu == mtu {
            return Ok(());
        }
        let message = LinkUnspec::new_with_index(link.index).mtu(mtu).up().build();
        let set = self.0.link().set(message).execute().await;
        Ok(set.with_context(|| format!("cannot set {} up with MTU {mtu}", link.name))?)
    }

    /// Has the namespace reach its own addresses.
    pub(super) async fn set_loopback_up(&self) -> Result<(), Error> {
        let present = self.all().await?;
        if present
            .iter()
            .any(|link| link.index == LOOPBACK_INDEX && link.is_up)
        {
            return Ok(());
        }
        let message = LinkUnspec::new_with_index(LOOPBACK_INDEX).up().build();
        let set = self.0.link().set(message).execute().await;
        Ok(set.context("cannot set lo up")?)
    }

    /// The link's sub-interface for frames with this VLAN's tag, made where it is not there yet.
    pub(super) async fn vlan(&self, link: &Link, vlan: u16) -> Result<Link, Error> {
        let name = format!("{}.{vlan}", link.name);
        if let Some(found) = self.find(&name).await? {
            return Ok(found);
        }
        let message = LinkVlan::new(&name, link.index, vlan).build();
        let made = self.0.link().add(message).execute().await;
        made.with_context(|| format!("cannot make {name}; it needs the kernel module 8021q"))?;
        let found = self.find(&name).await?;
        Ok(found.with_context(|| format!("{name} is gone again"))?)
    }

    async fn find(&self, name: &str) -> Result<Option<Link>, Error> {
        let present = self.all().await?;
        Ok(present.into_iter().find(|link| link.name == name))
    }

    pub(super) async fn set_address(
        &self,
        link: &Link,
        address: IpAddr,
        prefix_bits: u8,
    ) -> Result<(), Error> {
        let request = self.0.address().add(link.index, address, prefix_bits);
        let added = request.replace().execute().await;
        Ok(added.with_context(|| {
            format!(
                "cannot give {} the address {address}/{prefix_bits}",
                link.name
            )
        })?)
    }

    pub(super) async fn set_neighbour(
        &self,
        link: &Link,
        address: IpAddr,
        mac: MacAddress,
    ) -> Result<(), Error> {
        let request = self.0.neighbours().add(link.index, address);
        let added = request.link_layer_address(&mac.0).replace().execute().await;
        match added {
            // A stack in user space: the neighbours that it was started with are all that it ever has.
            Err(refused) if is_unknown(&refused) => Ok(()),
            added => Ok(added.with_context(|| {
                format!(
                    "cannot enter the neighbour {address} ({mac}) on {}",
                    link.name
                )
            })?),
        }
    }

    pub(super) async fn set_route(
        &self,
        link: &Link,
        network: IpAddr,
        prefix_bits: u8,
        gateway: IpAddr,
    ) -> Result<(), Error> {
        let set = async {
            let route = RouteMessageBuilder::<IpAddr>::new()
                .destination_prefix(network, prefix_bits)?
                .gateway(gateway)?
                .output_interface(link.index);
            let request = self.0.route().add(route.build());
            anyhow::Ok(request.replace().execute().await?)
        };
        Ok(set.await.with_context(|| {
            let name = &link.name;
            format!("cannot enter the route to {network}/{prefix_bits} via {gateway} on {name}")
        })?)
    }
}

/// Whether the kernel knows no such request.
fn is_unknown(refused: &rtnetlink::Error) -> bool {
    matches!(refused, rtnetlink::Error::NetlinkError(message) if message.raw_code() == -(Errno::EOPNOTSUPP as i32))
}

fn drops_of(qdisc: &TcMessage) -> u64 {
    let statistics = qdisc
        .attributes
        .iter()
        .filter_map(|attribute| match attribute {
            TcAttribute::Stats2(statistics) => Some(statistics),
            _ => None,
        });
    statistics
        .flatten()
        .find_map(|statistic| match statistic {
            TcStats2::Queue(queue) => Some(u64::from(queue.drops)),
            _ => None,
        })
        .unwrap_or_default()
}
