//! An XDP program at an interface, held by a BPF link.
//!
//! The kernel detaches when the link's last descriptor closes, so that a killed agent leaves
//! nothing behind.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys as sys;

use super::bpf::{check, with_libbpf_log};
use super::interface::Interface;

/// Where XDP runs: in the driver, or in the kernel's receive path with a socket buffer made
/// already.
#[derive(Clone, Copy, Debug)]
pub(super) enum XdpMode {
    Native,
    Generic,
}

impl XdpMode {
    fn flags(self) -> u32 {
        match self {
            Self::Native => sys::XDP_FLAGS_DRV_MODE,
            Self::Generic => sys::XDP_FLAGS_SKB_MODE,
        }
    }
}

/// An attached XDP program; dropping it detaches.
#[derive(Debug)]
pub(super) struct XdpLink {
    link: OwnedFd,
    interface: Interface,
    mode: XdpMode,
}

impl XdpLink {
    /// Attaches; fails where another XDP program is attached already.
    pub fn attach(
        interface: &Interface,
        program: BorrowedFd<'_>,
        mode: XdpMode,
    ) -> anyhow::Result<Self> {
        let options = sys::bpf_link_create_opts {
            sz: size_of::<sys::bpf_link_create_opts>() as _,
            flags: mode.flags(),
            ..Default::default()
        };
        let fd = with_libbpf_log(&format!("cannot attach to {}", interface.name), || {
            // SAFETY: the options outlive the call.
            check(unsafe {
                sys::bpf_link_create(program.as_raw_fd(), interface.index, sys::BPF_XDP, &options)
            })
        })?;
        // SAFETY: a descriptor that the kernel just made for us.
        let link = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self {
            link,
            interface: interface.clone(),
            mode,
        })
    }

    /// The program that the interface runs now in this mode; None when the interface is gone.
    pub fn program_id(&self) -> Option<u32> {
        let mut id = 0;
        let found = with_libbpf_log("cannot query XDP", || {
            // SAFETY: `id` outlives the call.
            check(unsafe {
                sys::bpf_xdp_query_id(self.interface.index, self.mode.flags() as i32, &mut id)
            })
        });
        found.ok().map(|_| id)
    }

    /// Detaches; that the interface is gone already is no error.
    pub fn detach(self) -> anyhow::Result<()> {
        self.take_off()
    }

    /// Closing alone would leave it attached for as long as a child between fork and exec has the
    /// descriptor.
    fn take_off(&self) -> anyhow::Result<()> {
        with_libbpf_log(
            &format!("cannot detach from {}", self.interface.name),
            || {
                // SAFETY: takes integers only.
                check(unsafe { sys::bpf_link_detach(self.link.as_raw_fd()) }).map(drop)
            },
        )
    }
}

impl Drop for XdpLink {
    fn drop(&mut self) {
        if let Err(error) = self.take_off() {
            eprintln!("{error:#}");
        }
    }
}
