//! # Mechanisms: ways to put frames into an interface
//!
//! One file each, behind one trait; but for pktgen, whose frames the kernel makes by itself, so that there is nothing to write into
//! them. An interface may refuse one; then the reason is said and another is used.

mod af_xdp;
mod fitness;
mod gso;
mod pktgen;
mod raw;
mod rings;
mod socket;
mod trains;

use std::fmt::{Debug, Display, Formatter};
use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use af_xdp::AfXdp;
pub(super) use fitness::Fitness;
use gso::Gso;
pub(super) use pktgen::{Device, Running};
use raw::Raw;
pub(super) use socket::Queueing;

use super::frame::{Endpoints, GREATEST_FRAME_BYTES};
use super::interface::Interface;

/// A way to send frames: as scenarios, replies and results name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Name {
    /// Frames one by one through a packet socket.
    Raw,
    /// Trains of frames through a packet socket, which the kernel cuts apart.
    Gso,
    /// Frames in memory shared with the kernel, straight to the driver.
    AfXdp,
    /// Frames that the kernel makes, straight to the driver.
    Pktgen,
}

impl Name {
    pub(super) const ALL: [Self; 4] = [Self::Raw, Self::Gso, Self::AfXdp, Self::Pktgen];
    /// Those whose frames the agent makes.
    pub(super) const OWN: [Self; 3] = [Self::Raw, Self::Gso, Self::AfXdp];
}

impl Display for Name {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Raw => "raw",
            Self::Gso => "gso",
            Self::AfXdp => "af_xdp",
            Self::Pktgen => "pktgen",
        })
    }
}

/// Slots in which frames wait, and a way to send them.
pub(super) trait Mechanism: Debug + Send {
    /// Makes the frame in every slot one like `frame`, which begins with so many bytes of headers and is no longer
    /// than [`Self::greatest_frame_bytes`]. None becomes longer than `frame` later.
    fn load(&mut self, frame: &[u8], header_bytes: usize);

    /// Longest frame that it takes; the interface may take less.
    fn greatest_frame_bytes(&self) -> usize;

    /// Number of slots: the most frames of one send.
    fn slots(&self) -> usize;

    /// The headers of the frame in `slot`, which is `frame_bytes` long from now on; None where the kernel makes them, which makes
    /// them all alike.
    fn headers(&mut self, slot: usize, frame_bytes: usize) -> Option<&mut [u8]>;

    /// The frame in `slot` from its test fields on.
    fn fields(&mut self, slot: usize) -> &mut [u8];

    /// Offers the frames in the first `count` slots to the interface.
    ///
    /// An error means that the kernel refuses such frames altogether.
    fn send(&mut self, count: usize) -> Result<Sent, Errno>;

    /// Waits until everything taken was given to the interface.
    fn flush(&mut self) {}

    /// Whether [`Sent::dropped`] is known.
    fn sees_drops(&self) -> bool {
        true
    }

    /// What to wait on while there is no room.
    fn descriptor(&self) -> BorrowedFd<'_>;
}

/// What became of the frames that were offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// The first so many are done with; none where there is no room.
    pub(super) taken: usize,
    /// Of them, dropped by the interface.
    pub(super) dropped: usize,
}

impl Sent {
    const NO_ROOM: Self = Self {
        taken: 0,
        dropped: 0,
    };

    fn all(taken: usize) -> Self {
        Self { taken, dropped: 0 }
    }
}

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

/// Opens a mechanism on an interface that is fit for it, for a stream that is to be sent from `cpu`.
pub(super) fn open(
    name: Name,
    interface: &Interface,
    cpu: usize,
    stream: u8,
    endpoints: &Endpoints,
) -> anyhow::Result<Way> {
    Ok(Way::Frames(match name {
        Name::Raw => Box::new(Raw::open(interface, Queueing::Qdisc)?),
        Name::Gso => Box::new(Gso::open(interface)?),
        Name::AfXdp => Box::new(AfXdp::open(interface)?),
        Name::Pktgen => {
            return Device::open(interface, cpu, stream, endpoints).map(Way::Generator);
        }
    }))
}

/// A way past the interface's queue, for few frames that must not wait in it.
pub(super) fn open_bypass(interface: &Interface) -> anyhow::Result<Box<dyn Mechanism>> {
    Ok(Box::new(Raw::open(interface, Queueing::Bypass)?))
}
