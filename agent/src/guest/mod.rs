//! # A guest's network
//!
//! The same for a guest with a kernel of its own, a container, and a plain network namespace: the interfaces are found by
//! their Ethernet addresses, configured, and awaited.

pub(crate) mod egress;
mod links;
pub(crate) mod modules;
pub(crate) mod residence;
mod state;
mod sysctl;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::Error;
use crate::mac::MacAddress;
use crate::netdevice;
use links::{Link, Links};
pub(crate) use state::state;

/// How long NICs may take to appear, and then to have a carrier. Generous: an emulated CPU is slow.
const LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Whether this process is the init of a guest with a kernel of its own.
///
/// A container's first process may have the number 1 as well, but is not named `init`, as an initramfs wants it.
pub fn runs_as_init() -> bool {
    std::process::id() == 1 && is_named_init()
}

/// Whether this process serves a guest with a kernel of its own: its init's child does.
fn serves_own_kernel() -> bool {
    std::os::unix::process::parent_id() == 1 && is_named_init()
}

fn is_named_init() -> bool {
    let program = std::env::args_os().next().map(PathBuf::from);
    program.is_some_and(|path| path.file_name() == Some("init".as_ref()))
}

/// `guest.configure`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigureParams {
    /// Names of module lists to load; a guest's init only.
    #[serde(default)]
    modules: Vec<String>,
    nics: Vec<NicParams>,
    /// Whether IPv4 packets are forwarded between the interfaces.
    forward: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NicParams {
    mac: MacAddress,
    address: Ipv4Interface,
    mtu: u32,
    neighbours: Vec<Neighbour>,
}

/// A permanent ARP entry.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Neighbour {
    address: Ipv4Addr,
    mac: MacAddress,
}

/// An address with the length of its network's prefix: `198.18.0.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Ipv4Interface {
    address: Ipv4Addr,
    prefix_bits: u8,
}

impl TryFrom<String> for Ipv4Interface {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parse = || {
            let (address, prefix) = text.split_once('/')?;
            let address = address.parse().ok()?;
            let prefix_bits = prefix.parse().ok().filter(|bits| *bits <= 32)?;
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
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ConfigureReply {
    nics: Vec<NicReply>,
}

#[derive(Clone, Debug, Serialize)]
struct NicReply {
    mac: MacAddress,
    interface: String,
    /// Null where the interface does not tell.
    driver: Option<String>,
}

/// Loads modules, waits for the NICs, configures them, and waits for their carriers. Doing it again changes nothing.
pub(crate) fn configure(
    params: &ConfigureParams,
    abort: &AtomicBool,
) -> Result<ConfigureReply, Error> {
    for (at, name) in params.modules.iter().enumerate() {
        modules::load_for_guest(name).map_err(|problem| match problem {
            Error::Params { problem, .. } => Error::params(format!("modules[{at}]"), problem),
            failed => failed,
        })?;
    }
    runtime()?.block_on(configure_nics(params, abort))
}

/// What netlink requests run in.
fn runtime() -> Result<Runtime, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("cannot start the netlink runtime")?)
}

async fn configure_nics(
    params: &ConfigureParams,
    abort: &AtomicBool,
) -> Result<ConfigureReply, Error> {
    let links = Links::open()?;
    let found = links_of(&links, &params.nics, abort, |_| Ok(())).await?;
    sysctl::set_host(params.forward)?;
    for (nic, link) in params.nics.iter().zip(&found) {
        sysctl::set_interface(&link.name)?;
        links
            .set_address(link, nic.address.address, nic.address.prefix_bits)
            .await?;
        links.set_up(link, nic.mtu).await?;
        // A link that goes up forgets its neighbours, so they come last.
        for neighbour in &nic.neighbours {
            links
                .set_neighbour(link, neighbour.address, neighbour.mac)
                .await?;
        }
    }
    links_of(&links, &params.nics, abort, Link::has_carrier).await?;
    let nics = params.nics.iter().zip(found).map(|(nic, link)| NicReply {
        mac: nic.mac,
        driver: netdevice::driver(&link.name).ok(),
        interface: link.name,
    });
    Ok(ConfigureReply {
        nics: nics.collect(),
    })
}

/// Waits until `ready` holds for every NIC's link, and gives the links in the NICs' order.
async fn links_of(
    links: &Links,
    nics: &[NicParams],
    abort: &AtomicBool,
    ready: fn(&Link) -> Result<(), &'static str>,
) -> Result<Vec<Link>, Error> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let present = links.all().await?;
        let find = |nic: &NicParams| {
            let link = present.iter().find(|link| link.mac == Some(nic.mac));
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
        let read = |text: &str| Ipv4Interface::try_from(text.to_owned());
        let expected = Ipv4Interface {
            address: Ipv4Addr::new(198, 18, 0, 1),
            prefix_bits: 24,
        };
        assert_eq!(read("198.18.0.1/24"), Ok(expected));
        for text in [
            "",
            "198.18.0.1",
            "198.18.0.1/33",
            "198.18.0/24",
            "2001:2::1/48",
            "198.18.0.1/-1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
