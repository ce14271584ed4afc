//! Attaching a stream's program to its interface, and finding out whether it is still there.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use anyhow::anyhow;
use libbpf_rs::ProgramHandle;

use super::capture::Capture;
use super::cost;
use super::delivery::Delivery;
use super::program::{self, Build, Memory, OpenSinkSkel};
use super::wire::{AttachMode, AttachRequest, SinkCost};
use crate::traffic::clsact::IngressFilter;
use crate::traffic::interface::Interface;
use crate::traffic::xdp_link::{XdpLink, XdpMode};

/// A stream's program at work; dropping it detaches.
#[derive(Debug)]
pub(super) struct Attached {
    pub mode: AttachMode,
    pub delivery: Delivery,
    pub memory: Memory,
    pub cost: SinkCost,
    /// Why it is none of the modes that were tried before; None where it is the first.
    pub fallback: Option<String>,
    program_id: u32,
    hold: Hold,
}

/// What keeps the program attached.
#[derive(Debug)]
enum Hold {
    Link(XdpLink),
    Filter(IngressFilter),
}

impl Attached {
    /// Attaches in the first mode that the request allows and the kernel grants.
    pub fn new(
        interface: &Interface,
        request: AttachRequest,
        capture: Capture,
    ) -> anyhow::Result<Self> {
        Self::adjusted(interface, request, capture, |_, _| ())
    }

    /// The same, with programs that `adjust` had the last word on.
    pub fn adjusted(
        interface: &Interface,
        request: AttachRequest,
        capture: Capture,
        adjust: impl Fn(AttachMode, &mut OpenSinkSkel<'_>),
    ) -> anyhow::Result<Self> {
        let mut refusals = Vec::new();
        for &mode in allowed(request) {
            match Self::in_mode(interface, mode, capture, |open| adjust(mode, open)) {
                Ok(mut attached) => {
                    attached.fallback = (!refusals.is_empty()).then(|| refusals.join(". "));
                    return Ok(attached);
                }
                Err(error) => refusals.push(format!("{}: {error:#}", title(mode))),
            }
        }
        Err(anyhow!(
            "no sink on {}. {}",
            interface.name,
            refusals.join(". ")
        ))
    }

    fn in_mode(
        interface: &Interface,
        mode: AttachMode,
        capture: Capture,
        adjust: impl FnOnce(&mut OpenSinkSkel<'_>),
    ) -> anyhow::Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let delivery = Delivery::to(&interface.name, mode);
        let build = Build {
            mode,
            delivery,
            capture,
        };
        let loaded = program::load(&mut storage, build, adjust)?;
        let memory = Memory::of(&loaded)?;
        let cost = cost::measure(&loaded, &memory)?;
        let program = match mode {
            AttachMode::Tc => ProgramHandle::try_from(&loaded.progs.sink_tc)?,
            AttachMode::XdpNative | AttachMode::XdpGeneric => {
                ProgramHandle::try_from(&loaded.progs.sink_xdp)?
            }
        };
        let hold = match mode {
            AttachMode::XdpNative => Hold::Link(XdpLink::attach(
                interface,
                program.as_fd(),
                XdpMode::Native,
            )?),
            AttachMode::XdpGeneric => Hold::Link(XdpLink::attach(
                interface,
                program.as_fd(),
                XdpMode::Generic,
            )?),
            AttachMode::Tc => Hold::Filter(IngressFilter::attach(interface, program.as_fd())?),
        };
        Ok(Self {
            mode,
            delivery,
            memory,
            cost,
            fallback: None,
            program_id: program.id(),
            hold,
        })
    }

    /// Whether the interface still runs this very program.
    pub fn is_in_place(&self) -> bool {
        let found = match &self.hold {
            Hold::Link(link) => link.program_id(),
            Hold::Filter(filter) => filter.program_id(),
        };
        found == Some(self.program_id)
    }

    /// Detaches; an interface or filter that is gone already is no error.
    pub fn detach(self) -> anyhow::Result<()> {
        match self.hold {
            Hold::Link(link) => link.detach(),
            Hold::Filter(filter) => filter.detach(),
        }
    }
}

fn allowed(request: AttachRequest) -> &'static [AttachMode] {
    match request {
        AttachRequest::Auto => &[
            AttachMode::XdpNative,
            AttachMode::XdpGeneric,
            AttachMode::Tc,
        ],
        AttachRequest::Native => &[AttachMode::XdpNative],
        AttachRequest::Generic => &[AttachMode::XdpGeneric],
        AttachRequest::Tc => &[AttachMode::Tc],
    }
}

fn title(mode: AttachMode) -> &'static str {
    match mode {
        AttachMode::XdpNative => "native XDP",
        AttachMode::XdpGeneric => "generic XDP",
        AttachMode::Tc => "tc",
    }
}
