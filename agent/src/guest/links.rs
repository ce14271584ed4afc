//! # Network interfaces through rtnetlink

use std::net::{IpAddr, Ipv4Addr};

use anyhow::Context;
use futures_util::TryStreamExt;
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::{Handle, LinkUnspec, new_connection};

use crate::Error;
use crate::mac::MacAddress;

/// A network interface as it was when it was listed.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) name: String,
    pub(super) mac: Option<MacAddress>,
    index: u32,
    is_up: bool,
    carrier: bool,
}

impl Link {
    pub(super) fn has_carrier(&self) -> Result<(), &'static str> {
        match (self.is_up, self.carrier) {
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
            index: message.header.index,
            is_up: message.header.flags.contains(LinkFlags::Up),
            carrier: false,
        };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::Address(bytes) => link.mac = bytes.try_into().ok().map(MacAddress),
                LinkAttribute::Carrier(carrier) => link.carrier = carrier == 1,
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

    pub(super) async fn set_up(&self, link: &Link, mtu: u32) -> Result<(), Error> {
        let message = LinkUnspec::new_with_index(link.index).mtu(mtu).up().build();
        let set = self.0.link().set(message).execute().await;
        Ok(set.with_context(|| format!("cannot set {} up with MTU {mtu}", link.name))?)
    }

    pub(super) async fn set_address(
        &self,
        link: &Link,
        address: Ipv4Addr,
        prefix_bits: u8,
    ) -> Result<(), Error> {
        let request = self
            .0
            .address()
            .add(link.index, address.into(), prefix_bits);
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
        address: Ipv4Addr,
        mac: MacAddress,
    ) -> Result<(), Error> {
        let request = self.0.neighbours().add(link.index, IpAddr::V4(address));
        let added = request.link_layer_address(&mac.0).replace().execute().await;
        Ok(added.with_context(|| {
            format!(
                "cannot enter the neighbour {address} ({mac}) on {}",
                link.name
            )
        })?)
    }
}
