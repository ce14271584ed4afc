//! A direct-action BPF classifier at an interface's ingress.
//!
//! Unlike a BPF link, it outlives the process that made it, so it is taken off explicitly.

use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

use libbpf_rs::libbpf_sys as sys;
use nix::errno::Errno;

use super::bpf::{check, with_libbpf_log};
use super::interface::Interface;

/// An attached classifier; dropping it detaches, and removes the clsact qdisc if attaching had to
/// add it.
#[derive(Debug)]
pub(super) struct IngressFilter {
    interface: Interface,
    added_clsact: bool,
    /// The kernel's name for the filter; None until it is attached.
    filter: Option<Filter>,
}

#[derive(Clone, Copy, Debug)]
struct Filter {
    handle: u32,
    priority: u32,
}

impl IngressFilter {
    /// Puts the program in front of all other ingress filters of the interface.
    pub fn attach(interface: &Interface, program: BorrowedFd<'_>) -> anyhow::Result<Self> {
        let mut this = Self {
            interface: interface.clone(),
            added_clsact: false,
            filter: None,
        };
        this.added_clsact = with_libbpf_log(
            &format!("cannot add a clsact qdisc to {}", interface.name),
            || {
                // SAFETY: hook and options are initialised and outlive the call; so in all calls
                // below.
                match unsafe { sys::bpf_tc_hook_create(&mut this.hook(sys::BPF_TC_INGRESS)) } {
                    result if result == -(Errno::EEXIST as i32) => Ok(false),
                    result => check(result).map(|_| true),
                }
            },
        )?;
        let mut options = sys::bpf_tc_opts {
            prog_fd: program.as_raw_fd(),
            ..options(None)
        };
        with_libbpf_log(
            &format!("cannot attach a tc classifier to {}", interface.name),
            || check(unsafe { sys::bpf_tc_attach(&this.hook(sys::BPF_TC_INGRESS), &mut options) }),
        )?;
        this.filter = Some(Filter {
            handle: options.handle,
            priority: options.priority,
        });
        Ok(this)
    }

    /// The program that the filter runs now; None when the filter or its interface is gone.
    pub fn program_id(&self) -> Option<u32> {
        let mut options = options(self.filter);
        let found = with_libbpf_log("cannot query a tc classifier", || {
            check(unsafe { sys::bpf_tc_query(&self.hook(sys::BPF_TC_INGRESS), &mut options) })
        });
        found.ok().map(|_| options.prog_id)
    }

    /// Detaches; that filter, qdisc or interface is gone already is no error.
    pub fn detach(mut self) -> anyhow::Result<()> {
        self.take_off()
    }

    fn take_off(&mut self) -> anyhow::Result<()> {
        if let Some(filter) = self.filter.take() {
            absent_is_fine(
                &format!(
                    "cannot detach the tc classifier from {}",
                    self.interface.name
                ),
                || unsafe {
                    sys::bpf_tc_detach(&self.hook(sys::BPF_TC_INGRESS), &options(Some(filter)))
                },
            )?;
        }
        if mem::take(&mut self.added_clsact) {
            absent_is_fine(
                &format!(
                    "cannot remove the clsact qdisc from {}",
                    self.interface.name
                ),
                || unsafe {
                    sys::bpf_tc_hook_destroy(
                        &mut self.hook(sys::BPF_TC_INGRESS | sys::BPF_TC_EGRESS),
                    )
                },
            )?;
        }
        Ok(())
    }

    fn hook(&self, attach_point: sys::bpf_tc_attach_point) -> sys::bpf_tc_hook {
        sys::bpf_tc_hook {
            sz: size_of::<sys::bpf_tc_hook>() as _,
            ifindex: self.interface.index,
            attach_point,
            ..Default::default()
        }
    }
}

fn options(filter: Option<Filter>) -> sys::bpf_tc_opts {
    sys::bpf_tc_opts {
        sz: size_of::<sys::bpf_tc_opts>() as _,
        handle: filter.map_or(0, |filter| filter.handle),
        priority: filter.map_or(0, |filter| filter.priority),
        ..Default::default()
    }
}

impl Drop for IngressFilter {
    fn drop(&mut self) {
        if let Err(error) = self.take_off() {
            eprintln!("{error:#}");
        }
    }
}

/// Runs a removal; the filter, qdisc or interface being gone counts as done.
fn absent_is_fine(what: &str, remove: impl FnOnce() -> i32) -> anyhow::Result<()> {
    with_libbpf_log(what, || match Errno::from_raw(-remove()) {
        Errno::ENOENT | Errno::ENODEV | Errno::EINVAL => Ok(()),
        errno => check(-(errno as i32)).map(|_| ()),
    })
}
