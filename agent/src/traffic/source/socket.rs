//! A raw socket bound to one interface, which sends whole frames and receives nothing.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::Context;
use nix::net::if_::if_nametoindex;

use crate::traffic::Error;

/// What the kernel said to a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// So many frames were taken.
    Taken(u32),
    /// No room now; the same frames may be tried again.
    Blocked,
    /// The first frame was refused for good.
    Refused,
}

/// AF_PACKET, SOCK_RAW, protocol 0 (packet(7)). Sends never block; the interface's qdisc is not bypassed unless asked for.
#[derive(Debug)]
pub struct FrameSocket(OwnedFd);

impl FrameSocket {
    /// Binds to `interface` of this thread's network namespace; `field` names it in errors.
    pub fn bind(field: &str, interface: &str) -> Result<Self, Error> {
        let index = if_nametoindex(interface)
            .map_err(|error| Error::params(field, format!("{interface}: {}", error.desc())))?;
        // SAFETY: plain system calls on a descriptor that is owned from here on; the address outlives the call.
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            if fd < 0 {
                return Err(anyhow::Error::from(io::Error::last_os_error())
                    .context("opening a raw socket; the agent needs CAP_NET_RAW")
                    .into());
            }
            let socket = OwnedFd::from_raw_fd(fd);
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = index as i32;
            let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            if libc::bind(fd, (&raw const address).cast(), length) != 0 {
                return Err(anyhow::Error::from(io::Error::last_os_error())
                    .context(format!("binding a raw socket to {interface}"))
                    .into());
            }
            Ok(Self(socket))
        }
    }

    /// Hands frames straight to the driver from now on, past the queue that a flood fills.
    pub fn bypass_qdisc(&self) -> anyhow::Result<()> {
        let on: libc::c_int = 1;
        // SAFETY: the option's value is an int that outlives the call.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error()).context("bypassing the queue of the source's interface")
        }
    }

    /// Sends one frame.
    #[inline]
    pub fn send(&self, frame: &[u8]) -> io::Result<Sent> {
        // SAFETY: the slice outlives the call.
        let result = unsafe {
            libc::send(
                self.0.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
            )
        };
        if result >= 0 {
            Ok(Sent::Taken(1))
        } else {
            why(io::Error::last_os_error())
        }
    }

    /// Sends the first `count` frames of a batch with one system call.
    #[inline]
    pub fn send_batch(&self, batch: &mut super::batch::Batch, count: usize) -> io::Result<Sent> {
        let messages = &mut batch.messages[..count];
        // SAFETY: the headers point into the batch's own frames, which live as long as it.
        let result = unsafe {
            libc::sendmmsg(
                self.0.as_raw_fd(),
                messages.as_mut_ptr(),
                messages.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        if result >= 0 {
            Ok(Sent::Taken(result as u32))
        } else {
            why(io::Error::last_os_error())
        }
    }
}

impl AsRawFd for FrameSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn why(error: io::Error) -> io::Result<Sent> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(Sent::Blocked),
        Some(libc::ENOBUFS) => Ok(Sent::Refused),
        _ => Err(error),
    }
}
