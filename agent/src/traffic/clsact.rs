//! A direct-action BPF classifier at an interface's ingress.
//!
//! Unlike a BPF link, it outlives the process that made it, so it is taken off explicitly.

use std::os::fd::{AsRawFd, BorrowedFd};

use libbpf_rs::libbpf_sys as sys;
use nix::errno::Errno;

use super::bpf::{check, with_libbpf_log};

/// An attached classifier; dropping it detaches, and removes the clsact qdisc if attaching had to add it.
#[derive(Debug)]
pub(super) struct IngressFilter {
    interface_index: i32,
    handle: u32,
    priority: u32,
    added_clsact: bool,
    attached: bool,
}

impl IngressFilter {
    /// Puts the program in front of all other ingress filters of the interface.
    pub fn attach(
        interface: &str,
        interface_index: i32,
        program: BorrowedFd<'_>,
    ) -> anyhow::Result<Self> {
        let mut filter = Self {
            interface_index,
            handle: 0,
            priority: 0,
            added_clsact: false,
            attached: false,
        };
        with_libbpf_log(&format!("cannot add a clsact qdisc to {interface}"), || {
            // SAFETY: the hook is initialised and outlives the call; so in all calls below.
            match unsafe {
                sys::bpf_tc_hook_create(&mut hook(interface_index, sys::BPF_TC_INGRESS))
            } {
                exists if exists == -(Errno::EEXIST as i32) => Ok(()),
                result => check(result).map(|_| filter.added_clsact = true),
            }
        })?;
        let mut options = filter.options();
        options.prog_fd = program.as_raw_fd();
        with_libbpf_log(
            &format!("cannot attach a tc classifier to {interface}"),
            || {
                check(unsafe {
                    sys::bpf_tc_attach(&hook(interface_index, sys::BPF_TC_INGRESS), &mut options)
                })
            },
        )?;
        filter.attached = true;
        filter.handle = options.handle;
        filter.priority = options.priority;
        Ok(filter)
    }

    /// The program that this filter runs now; None when somebody took the filter or its interface away.
    pub fn program_id(&self) -> Option<u32> {
        let mut options = self.options();
        with_libbpf_log("query", || {
            check(unsafe {
                sys::bpf_tc_query(
                    &hook(self.interface_index, sys::BPF_TC_INGRESS),
                    &mut options,
                )
            })
        })
        .ok()
        .map(|_| options.prog_id)
    }

    /// Takes the filter off. When it was gone already, there is nothing left to do.
    pub fn detach(mut self) -> anyhow::Result<()> {
        self.take_off()
    }

    fn take_off(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.attached) {
            let options = self.options();
            absent_is_fine("cannot detach a tc classifier", || unsafe {
                sys::bpf_tc_detach(&hook(self.interface_index, sys::BPF_TC_INGRESS), &options)
            })?;
        }
        if std::mem::take(&mut self.added_clsact) {
            absent_is_fine("cannot remove a clsact qdisc", || unsafe {
                sys::bpf_tc_hook_destroy(&mut hook(
                    self.interface_index,
                    sys::BPF_TC_INGRESS | sys::BPF_TC_EGRESS,
                ))
            })?;
        }
        Ok(())
    }

    fn options(&self) -> sys::bpf_tc_opts {
        sys::bpf_tc_opts {
            sz: size_of::<sys::bpf_tc_opts>() as _,
            handle: self.handle,
            priority: self.priority,
            ..Default::default()
        }
    }
}

impl Drop for IngressFilter {
    fn drop(&mut self) {
        if let Err(error) = self.take_off() {
            eprintln!("interface {}: {error:#}", self.interface_index);
        }
    }
}

fn hook(interface_index: i32, attach_point: sys::bpf_tc_attach_point) -> sys::bpf_tc_hook {
    sys::bpf_tc_hook {
        sz: size_of::<sys::bpf_tc_hook>() as _,
        ifindex: interface_index,
        attach_point,
        ..Default::default()
    }
}

/// Runs a removal; the filter, qdisc or interface being gone counts as done.
fn absent_is_fine(what: &str, remove: impl FnOnce() -> i32) -> anyhow::Result<()> {
    with_libbpf_log(what, || match Errno::from_raw(-remove()) {
        Errno::ENOENT | Errno::ENODEV | Errno::EINVAL => Ok(()),
        errno => check(-(errno as i32)).map(|_| ()),
    })
}
