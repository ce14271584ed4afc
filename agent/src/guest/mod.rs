//! # A guest's network
//!
//! The same for a guest with a kernel of its own, a container, and a plain network namespace: the interfaces are found by
//! their Ethernet addresses, configured, and awaited.

mod counters;
pub(crate) mod egress;
mod kernel;
mod links;
pub(crate) mod modules;
pub(crate) mod residence;
mod state;
mod sysctl;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::mac::MacAddress;
use crate::netdevice;
pub use kernel::runs_as_init;
use links::{Link, Links, runtime};
pub(crate) use state::state;

/// How long NICs may take to appear, and then to have a carrier. Generous: an emulated CPU is slow.
const LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// `guest.configure`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuestConfigureParams {
    /// Names of module lists to load; a guest's init only.
    #[serde(default)]
    modules: Vec<String>,
    /// The NICs to configure.
    nics: Vec<GuestNic>,
    /// Whether packets are forwarded between the interfaces.
    forward: bool,
}

/// A NIC and what it is to be.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GuestNic {
    /// The Ethernet address by which the NIC is found.
    mac: MacAddress,
    /// Its address and the length of its network prefix.
    address: IpInterface,
    /// The MTU, in bytes.
    mtu: u32,
    /// Whose tag the frames carry.
    #[serde(default)]
    vlan: Option<u16>,
    /// Permanent neighbours on its network.
    neighbours: Vec<Neighbour>,
    /// What is reached through one of them.
    #[serde(default)]
    routes: Vec<Route>,
}

/// A permanent entry of ARP or neighbour discovery.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Neighbour {
    /// The IP address of the neighbour.
    address: IpAddr,
    /// The Ethernet address of the neighbour.
    mac: MacAddress,
}

/// A network behind a router on the NIC's own.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Route {
    /// The network.
    network: IpInterface,
    /// The address of the router.
    gateway: IpAddr,
}

/// An address with the length of its network's prefix: `198.18.0.1/24`, `2001:2::1/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct IpInterface {
    address: IpAddr,
    prefix_bits: u8,
}

impl JsonSchema for IpInterface {
    fn schema_name() -> Cow<'static, str> {
        "IpInterface".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An address with the length of its network's prefix: `198.18.0.1/24`, `2001:2::1/64`.",
            "pattern": "^[0-9a-fA-F.:]+/[0-9]{1,3}$",
        })
    }
}

impl TryFrom<String> for IpInterface {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parse = || {
            let (address, prefix) = text.split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            let most_bits = if address.is_ipv6() { 128 } else { 32 };
            let prefix_bits = prefix.parse().ok().filter(|bits| *bits <= most_bits)?;
            Some(Self {
                address,
                prefix_bits,
            })
        };
        parse()
            .ok_or_else(|| format!("`{text}` is not an address with a prefix, as in 198.18.0.1/24"))
    }
}

/// The NICs in the order of the params.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct GuestConfigureAnswer {
    /// The configured NICs.
    nics: Vec<ConfiguredNic>,
}

/// A NIC that was configured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ConfiguredNic {
    /// The Ethernet address of the NIC.
    mac: MacAddress,
    /// The name of the interface.
    interface: String,
    /// The name of its driver; null where the interface does not report one.
    driver: Option<String>,
}

/// Loads modules, waits for the NICs, configures them, and waits for their carriers. Doing it again changes nothing.
pub(crate) fn configure(
    params: &GuestConfigureParams,
    abort: &AtomicBool,
) -> Result<GuestConfigureAnswer, Error> {
    for (at, name) in params.modules.iter().enumerate() {
        modules::load_for_guest(name).map_err(|problem| match problem {
            Error::Params { problem, .. } => Error::params(format!("modules[{at}]"), problem),
            failed => failed,
        })?;
    }
    runtime()?.block_on(configure_nics(params, abort))
}

async fn configure_nics(
    params: &GuestConfigureParams,
    abort: &AtomicBool,
) -> Result<GuestConfigureAnswer, Error> {
    let links = Links::open()?;
    let found = links_of(&links, &params.nics, abort, |_| Ok(())).await?;
    let ipv6 = params.nics.iter().any(|nic| nic.address.address.is_ipv6());
    sysctl::set_host(params.forward, ipv6)?;
    links.set_loopback_up().await?;
    for (nic, link) in params.nics.iter().zip(&found) {
        match nic.vlan {
            None => configure_nic(&links, nic, link).await?,
            Some(vlan) => {
                sysctl::set_interface(&link.name, false)?;
                links.set_up(link, nic.mtu).await?;
                configure_nic(&links, nic, &links.vlan(link, vlan).await?).await?;
            }
        }
    }
    links_of(&links, &params.nics, abort, Link::has_carrier).await?;
    let nics = params
        .nics
        .iter()
        .zip(found)
        .map(|(nic, link)| ConfiguredNic {
            mac: nic.mac,
            driver: netdevice::driver(&link.name).ok(),
            interface: link.name,
        });
    Ok(GuestConfigureAnswer {
        nics: nics.collect(),
    })
}

/// Gives the NIC's address and all that belongs to it to a link, its own or a VLAN's.
async fn configure_nic(links: &Links, nic: &GuestNic, link: &Link) -> Result<(), Error> {
    let IpInterface {
        address,
        prefix_bits,
    } = nic.address;
    sysctl::set_interface(&link.name, address.is_ipv6())?;
    links.set_address(link, address, prefix_bits).await?;
    links.set_up(link, nic.mtu).await?;
    // A link that goes up forgets its neighbours, and one that is down takes no routes, so they come last.
    for neighbour in &nic.neighbours {
        links
            .set_neighbour(link, neighbour.address, neighbour.mac)
            .await?;
    }
    for route in &nic.routes {
        let IpInterface {
            address,
            prefix_bits,
        } = route.network;
        links
            .set_route(link, address, prefix_bits, route.gateway)
            .await?;
    }
    Ok(())
}

/// Waits until `ready` holds for every NIC's link, and gives the links in the NICs' order.
async fn links_of(
    links: &Links,
    nics: &[GuestNic],
    abort: &AtomicBool,
    ready: fn(&Link) -> Result<(), &'static str>,
) -> Result<Vec<Link>, Error> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let present = links.all().await?;
        let find = |nic: &GuestNic| {
            let link = present.iter().find(|link| link.is_nic(nic.mac));
            let link = link.ok_or_else(|| format!("{}: no interface has this address", nic.mac))?;
            match ready(link) {
                Ok(()) => Ok(link.clone()),
                Err(lack) => Err(format!("{} ({}): {lack}", nic.mac, link.name)),
            }
        };
        let (found, lacking): (Vec<_>, Vec<_>) = nics.iter().map(find).partition(Result::is_ok);
        if lacking.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        if abort.load(Ordering::Relaxed) {
            return Err(anyhow!("aborted while waiting for the NICs").into());
        }
        if Instant::now() >= deadline {
            let lacking: Vec<_> = lacking.into_iter().filter_map(Result::err).collect();
            let names: Vec<_> = present.iter().map(|link| link.name.as_str()).collect();
            return Err(anyhow!(
                "after {} s: {}; interfaces here: {}. Check the guest's NICs, their driver modules and their peers",
                LIMIT.as_secs(),
                lacking.join(", "),
                names.join(" "),
            )
            .into());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_a_prefix() {
        let read = |text: &str| IpInterface::try_from(text.to_owned());
        for (address, prefix_bits) in [("198.18.0.1", 24), ("2001:2::1", 64), ("::", 128)] {
            let expected = IpInterface {
                address: address.parse().unwrap(),
                prefix_bits,
            };
            assert_eq!(read(&format!("{address}/{prefix_bits}")), Ok(expected));
        }
        for text in [
            "",
            "198.18.0.1",
            "198.18.0.1/33",
            "198.18.0/24",
            "2001:2::1/129",
            "2001:2::g/64",
            "198.18.0.1/-1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
