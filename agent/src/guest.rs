//! `guest.configure`: makes this network namespace a forwarder that says nothing by itself.
//!
//! Addresses and neighbours are static, IPv6 is off, and nothing else is sent, so that only test frames cross the ports.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use futures_util::TryStreamExt;
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage, State};
use rtnetlink::packet_route::neighbour::NeighbourState;
use rtnetlink::{Handle, LinkUnspec};
use serde::{Deserialize, Serialize};

use crate::init;
use crate::traffic::frame::Mac;

const APPEAR_LIMIT: Duration = Duration::from_secs(10);
const CARRIER_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Drivers to load, as PID 1 of a guest only: elsewhere the kernel has what it has.
    #[serde(default)]
    modules: Vec<String>,
    nics: Vec<NicParams>,
    forward: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NicParams {
    mac: Mac,
    address: Prefix,
    mtu: u32,
    #[serde(default)]
    neighbours: Vec<NeighbourParams>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeighbourParams {
    address: Ipv4Addr,
    mac: Mac,
}

/// An IPv4 address and the length of its prefix, `198.18.0.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Prefix {
    address: Ipv4Addr,
    length: u8,
}

impl TryFrom<String> for Prefix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.split_once('/')
            .and_then(|(address, length)| Some((address.parse().ok()?, length.parse().ok()?)))
            .filter(|(_, length)| *length <= 32)
            .map(|(address, length)| Self { address, length })
            .ok_or_else(|| format!("{text:?} is no address; as in 198.18.0.1/24"))
    }
}

#[derive(Debug, Serialize)]
pub struct Reply {
    nics: Vec<NicReply>,
}

#[derive(Debug, Serialize)]
struct NicReply {
    mac: String,
    interface: String,
}

/// Loads drivers, waits for the NICs, sets them up, and returns when every one of them has a carrier.
pub fn configure(params: Params) -> anyhow::Result<Reply> {
    init::load_modules(&params.modules)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (connection, handle, _) =
            rtnetlink::new_connection().context("opening a netlink socket")?;
        tokio::spawn(connection);
        configure_all(&handle, &params).await
    })
}

async fn configure_all(handle: &Handle, params: &Params) -> anyhow::Result<Reply> {
    let mut nics = Vec::new();
    for nic in &params.nics {
        let index = appeared(handle, nic.mac).await?;
        let interface = name(&link(handle, index).await?);
        set_up(handle, index, &interface, nic)
            .await
            .with_context(|| format!("setting up {interface} ({})", nic.mac))?;
        nics.push((
            index,
            NicReply {
                mac: nic.mac.to_string(),
                interface,
            },
        ));
    }
    if params.forward {
        set("net/ipv4/ip_forward", "1")?;
    }
    for (index, nic) in &nics {
        wait_for_carrier(handle, *index, &nic.interface).await?;
    }
    Ok(Reply {
        nics: nics.into_iter().map(|(_, nic)| nic).collect(),
    })
}

async fn set_up(
    handle: &Handle,
    index: u32,
    interface: &str,
    nic: &NicParams,
) -> anyhow::Result<()> {
    let ipv4 = format!("net/ipv4/conf/{interface}");
    set(&format!("{ipv4}/rp_filter"), "0")?;
    set(&format!("{ipv4}/send_redirects"), "0")?;
    set("net/ipv4/conf/all/rp_filter", "0")?;
    set("net/ipv4/conf/all/send_redirects", "0")?;
    let ipv6 = format!("net/ipv6/conf/{interface}/disable_ipv6");
    if Path::new("/proc/sys").join(&ipv6).exists() {
        set(&ipv6, "1")?;
    }
    let link = LinkUnspec::new_with_index(index).mtu(nic.mtu).up().build();
    handle
        .link()
        .set(link)
        .execute()
        .await
        .context("mtu and up")?;
    let Prefix { address, length } = nic.address;
    let added = handle
        .address()
        .add(index, address.into(), length)
        .replace();
    added.execute().await.context("address")?;
    for neighbour in &nic.neighbours {
        let added = handle
            .neighbours()
            .add(index, neighbour.address.into())
            .link_layer_address(&neighbour.mac.0)
            .state(NeighbourState::Permanent)
            .replace();
        added.execute().await.context("neighbour")?;
    }
    Ok(())
}

/// The index of the interface with that address, once it is there.
async fn appeared(handle: &Handle, mac: Mac) -> anyhow::Result<u32> {
    let deadline = Instant::now() + APPEAR_LIMIT;
    loop {
        let links: Vec<LinkMessage> = handle.link().get().execute().try_collect().await?;
        let found = links.iter().find(|link| has_address(link, mac));
        if let Some(link) = found {
            return Ok(link.header.index);
        }
        if Instant::now() > deadline {
            let names: Vec<String> = links.iter().map(name).collect();
            bail!(
                "no NIC {mac} appeared within {} s (there are: {}); is its driver among the modules?",
                APPEAR_LIMIT.as_secs(),
                names.join(", ")
            );
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn wait_for_carrier(handle: &Handle, index: u32, interface: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + CARRIER_LIMIT;
    while !has_carrier(&link(handle, index).await?) {
        if Instant::now() > deadline {
            let limit = CARRIER_LIMIT.as_secs();
            bail!("{interface} has no carrier after {limit} s; is its other end up?");
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

async fn link(handle: &Handle, index: u32) -> anyhow::Result<LinkMessage> {
    let mut links = handle.link().get().match_index(index).execute();
    links
        .try_next()
        .await?
        .ok_or_else(|| anyhow!("interface {index} is gone"))
}

fn has_address(link: &LinkMessage, mac: Mac) -> bool {
    let is_it =
        |attribute: &LinkAttribute| matches!(attribute, LinkAttribute::Address(a) if *a == mac.0);
    link.attributes.iter().any(is_it)
}

fn has_carrier(link: &LinkMessage) -> bool {
    let operates = |attribute: &LinkAttribute| {
        matches!(
            attribute,
            LinkAttribute::OperState(State::Up | State::Unknown)
        )
    };
    link.attributes.iter().any(operates)
}

fn name(link: &LinkMessage) -> String {
    let names = link
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.clone()),
            _ => None,
        });
    names.unwrap_or_default()
}

fn set(key: &str, value: &str) -> anyhow::Result<()> {
    let path = Path::new("/proc/sys").join(key);
    fs::write(&path, value).with_context(|| format!("writing {value} to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_read_or_refused() {
        let prefix = |text: &str| Prefix::try_from(text.to_owned());
        let expected = Prefix {
            address: Ipv4Addr::new(198, 18, 0, 1),
            length: 24,
        };
        assert_eq!(prefix("198.18.0.1/24"), Ok(expected));
        for wrong in [
            "198.18.0.1",
            "198.18.0.1/33",
            "198.18.0/24",
            "/24",
            "::1/64",
        ] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
    }
}
