//! # Mechanisms: ways to put frames into an interface
//!
//! One file each, behind one trait; but for pktgen, whose frames the kernel makes by itself, so that there is nothing to write into
//! them. An interface may refuse one; then the reason is said and another is used.

mod af_xdp;
mod fitness;
mod gso;
mod name;
mod pktgen;
mod raw;
mod rings;
mod slots;
mod socket;
mod trains;

use af_xdp::AfXdp;
pub(super) use fitness::Fitness;
use gso::Gso;
pub(crate) use name::Name;
pub(super) use pktgen::{Device, Running};
use raw::Raw;
pub(super) use slots::Mechanism;
#[cfg(test)]
pub(super) use slots::Sent;
pub(super) use socket::Queueing;

use super::frame::{Endpoints, GREATEST_FRAME_BYTES};
use super::interface::Interface;

/// A mechanism that is open for a stream.
#[derive(Debug)]
pub(super) enum Way {
    /// The agent makes the frames.
    Frames(Box<dyn Mechanism>),
    /// The kernel does.
    Generator(Device),
}

impl Way {
    /// Longest frame that it takes; the interface may take less.
    pub(super) fn greatest_frame_bytes(&self) -> usize {
        match self {
            Self::Frames(mechanism) => mechanism.greatest_frame_bytes(),
            Self::Generator(_) => GREATEST_FRAME_BYTES,
        }
    }
}

/// Where a strand of a stream leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlet {
    pub(super) cpu: usize,
    /// The interface's queue, where the mechanism has one for itself.
    pub(super) queue: u32,
    /// How many share the interface's room.
    pub(super) strands: usize,
}

/// Opens a mechanism on an interface that is fit for it, for a strand of a stream.
pub(super) fn open(
    name: Name,
    interface: &Interface,
    outlet: Outlet,
    stream: u8,
    endpoints: &Endpoints,
) -> anyhow::Result<Way> {
    Ok(Way::Frames(match name {
        Name::Raw => Box::new(Raw::open(interface, Queueing::Qdisc, outlet.strands)?),
        Name::Gso => Box::new(Gso::open(interface, outlet.strands)?),
        Name::AfXdp => Box::new(AfXdp::open(interface, outlet.queue)?),
        Name::Pktgen => {
            return Device::open(interface, outlet.cpu, stream, endpoints).map(Way::Generator);
        }
    }))
}

/// A way past the interface's queue, for few frames that must not wait in it.
pub(super) fn open_bypass(interface: &Interface) -> anyhow::Result<Box<dyn Mechanism>> {
    Ok(Box::new(Raw::open(interface, Queueing::Bypass, 1)?))
}
