//! Dropping everything at an interface's ingress, to learn how fast a source is when nothing lies behind the link.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use serde::{Deserialize, Serialize};

use super::Error;
use super::bpf::{MapValue, Single, interface_index, with_libbpf_log};
use super::clsact::IngressFilter;

mod skeleton {
    #![allow(clippy::all, dead_code)]
    include!(concat!(env!("OUT_DIR"), "/ingress.skel.rs"));
}

use skeleton::types::arrivals as Arrivals;

// SAFETY: laid out by the skeleton after the BPF program's own type; integers only.
unsafe impl MapValue for Arrivals {}

/// `ingress.drop`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropParams {
    pub interfaces: Vec<String>,
}

/// `ingress.release`: what arrived meanwhile.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseReply {
    pub interfaces: Vec<DroppedAtInterface>,
}

/// Test frames dropped at one interface, the segments of super-packets counted each.
#[derive(Clone, Debug, Serialize)]
pub struct DroppedAtInterface {
    pub interface: String,
    pub frames: u64,
    /// CLOCK_MONOTONIC at the first and last arrival; null when there was none.
    pub first_ns: Option<u64>,
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
    pub fn open(params: &DropParams) -> Result<Self, Error> {
        if params.interfaces.is_empty() {
            return Err(Error::params("interfaces", "names no interface"));
        }
        let mut interfaces: Vec<Dropping> = Vec::new();
        for (position, interface) in params.interfaces.iter().enumerate() {
            let field = format!("interfaces[{position}]");
            if interfaces.iter().any(|other| other.interface == *interface) {
                return Err(Error::params(
                    field,
                    format!("`{interface}` is named twice"),
                ));
            }
            let index = interface_index(&field, interface)?;
            interfaces.push(Dropping::attach(interface, index)?);
        }
        Ok(Self { interfaces })
    }

    /// Lets the traffic in again and reports what was dropped.
    pub fn release(self) -> Result<ReleaseReply, Error> {
        let released: Vec<_> = self.interfaces.into_iter().map(Dropping::release).collect();
        Ok(ReleaseReply {
            interfaces: released.into_iter().collect::<anyhow::Result<_>>()?,
        })
    }
}

impl Dropping {
    fn attach(interface: &str, index: i32) -> anyhow::Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let program = with_libbpf_log("the kernel refuses the ingress drop's BPF program", || {
            skeleton::IngressSkelBuilder::default()
                .open(&mut storage)?
                .load()
        })?;
        Ok(Self {
            interface: interface.to_owned(),
            arrivals: Single::locked(&program.maps.ingress_arrivals)?,
            filter: IngressFilter::attach(interface, index, program.progs.ingress_drop.as_fd())?,
        })
    }

    fn release(self) -> anyhow::Result<DroppedAtInterface> {
        self.filter.detach()?;
        let arrivals = self.arrivals.read()?;
        Ok(DroppedAtInterface {
            interface: self.interface,
            frames: arrivals.frames,
            first_ns: (arrivals.frames > 0).then_some(arrivals.first_ns),
            last_ns: (arrivals.frames > 0).then_some(arrivals.last_ns),
        })
    }
}
