//! Attaching a stream's program to its interface, and finding out whether it is still there.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use anyhow::anyhow;
use libbpf_rs::ProgramHandle;
use libbpf_rs::libbpf_sys as sys;

use super::cost;
use super::program::{self, Memory};
use super::wire::{AttachRequest, Mode};
use crate::traffic::bpf::{check, with_libbpf_log};
use crate::traffic::clsact::IngressFilter;

/// A stream's program at work; dropping it detaches.
#[derive(Debug)]
pub(super) struct Attached {
    pub mode: Mode,
    pub memory: Memory,
    pub cost_ns_per_frame: f64,
    interface_index: i32,
    program_id: u32,
    hold: Hold,
}

/// What keeps the program attached.
#[derive(Debug)]
enum Hold {
    /// A BPF link: the kernel detaches when the last descriptor closes, however this process ends.
    Link {
        _link: OwnedFd,
        flags: u32,
    },
    Filter(IngressFilter),
}

impl Attached {
    /// Attaches in the first mode that the request allows and the kernel grants.
    pub fn new(
        interface: &str,
        interface_index: i32,
        request: AttachRequest,
    ) -> anyhow::Result<Self> {
        let mut refusals = Vec::new();
        for &mode in allowed(request) {
            match Self::in_mode(interface, interface_index, mode) {
                Ok(attached) => return Ok(attached),
                Err(error) => refusals.push(format!("{}: {error:#}", title(mode))),
            }
        }
        Err(anyhow!("no sink on {interface}. {}", refusals.join(". ")))
    }

    fn in_mode(interface: &str, interface_index: i32, mode: Mode) -> anyhow::Result<Self> {
        let mut storage = MaybeUninit::uninit();
        let loaded = program::load(&mut storage, mode)?;
        let memory = Memory::of(&loaded)?;
        let cost_ns_per_frame = cost::ns_per_frame(&loaded, &memory)?;
        let program = match mode {
            Mode::Tc => ProgramHandle::try_from(&loaded.progs.sink_tc)?,
            Mode::XdpNative | Mode::XdpGeneric => ProgramHandle::try_from(&loaded.progs.sink_xdp)?,
        };
        let hold = match mode {
            Mode::XdpNative => link(
                interface,
                interface_index,
                program.as_fd(),
                sys::XDP_FLAGS_DRV_MODE,
            )?,
            Mode::XdpGeneric => link(
                interface,
                interface_index,
                program.as_fd(),
                sys::XDP_FLAGS_SKB_MODE,
            )?,
            Mode::Tc => Hold::Filter(IngressFilter::attach(
                interface,
                interface_index,
                program.as_fd(),
            )?),
        };
        Ok(Self {
            mode,
            memory,
            cost_ns_per_frame,
            interface_index,
            program_id: program.id(),
            hold,
        })
    }

    /// Whether the interface still runs this very program.
    pub fn is_in_place(&self) -> bool {
        let found = match &self.hold {
            Hold::Filter(filter) => filter.program_id(),
            Hold::Link { flags, .. } => {
                let mut id = 0;
                with_libbpf_log("query", || {
                    // SAFETY: `id` outlives the call.
                    check(unsafe {
                        sys::bpf_xdp_query_id(self.interface_index, *flags as i32, &mut id)
                    })
                })
                .ok()
                .map(|_| id)
            }
        };
        found == Some(self.program_id)
    }

    pub fn detach(self) -> anyhow::Result<()> {
        match self.hold {
            Hold::Filter(filter) => filter.detach(),
            Hold::Link { .. } => Ok(()),
        }
    }
}

fn allowed(request: AttachRequest) -> &'static [Mode] {
    match request {
        AttachRequest::Auto => &[Mode::XdpNative, Mode::XdpGeneric, Mode::Tc],
        AttachRequest::Native => &[Mode::XdpNative],
        AttachRequest::Generic => &[Mode::XdpGeneric],
        AttachRequest::Tc => &[Mode::Tc],
    }
}

fn title(mode: Mode) -> &'static str {
    match mode {
        Mode::XdpNative => "native XDP",
        Mode::XdpGeneric => "generic XDP",
        Mode::Tc => "tc",
    }
}

fn link(
    interface: &str,
    interface_index: i32,
    program: BorrowedFd<'_>,
    flags: u32,
) -> anyhow::Result<Hold> {
    let options = sys::bpf_link_create_opts {
        sz: size_of::<sys::bpf_link_create_opts>() as _,
        flags,
        ..Default::default()
    };
    let fd = with_libbpf_log(&format!("cannot attach to {interface}"), || {
        // SAFETY: the options outlive the call.
        check(unsafe {
            sys::bpf_link_create(program.as_raw_fd(), interface_index, sys::BPF_XDP, &options)
        })
    })?;
    // SAFETY: a descriptor that the kernel just made for us.
    Ok(Hold::Link {
        _link: unsafe { OwnedFd::from_raw_fd(fd) },
        flags,
    })
}
