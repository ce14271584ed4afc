//! # Sockets of endpoints: one address, one interface

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use anyhow::Context;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, bind, recv, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeVal;
use serde::Deserialize;

use super::message::{GREATEST_BYTES, GREATEST_DATAGRAM_BYTES};
use crate::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::interface::Interface;

const LONGEST_BUSY_POLL_US: u64 = 1_000_000;
const BUFFER_BYTES: std::ops::RangeInclusive<usize> = 4096..=1 << 28;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    /// Whether one message may be so long.
    pub(super) fn check_bytes(self, field: &str, bytes: usize) -> Result<(), Error> {
        let greatest = match self {
            Self::Tcp => GREATEST_BYTES,
            Self::Udp => GREATEST_DATAGRAM_BYTES,
        };
        if bytes > greatest {
            let problem = format!("{bytes} is above the {greatest} that one message may have");
            return Err(Error::params(field, problem));
        }
        Ok(())
    }
}

/// How a socket is to behave; those of the two ends are set apart.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Options {
    /// TCP sends at once, however little there is (no Nagle).
    no_delay: bool,
    /// How long an end that waits looks for input before it sleeps. It burns the CPU meanwhile, and saves being woken.
    busy_poll_us: u64,
    /// Null for the kernel's defaults.
    send_buffer_bytes: Option<usize>,
    receive_buffer_bytes: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            no_delay: true,
            busy_poll_us: 0,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
        }
    }
}

impl Options {
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.busy_poll_us > LONGEST_BUSY_POLL_US {
            let problem = format!("{} is above {LONGEST_BUSY_POLL_US}", self.busy_poll_us);
            return Err(Error::params("options.busy_poll_us", problem));
        }
        let buffers = [
            ("options.send_buffer_bytes", self.send_buffer_bytes),
            ("options.receive_buffer_bytes", self.receive_buffer_bytes),
        ];
        for (field, bytes) in buffers {
            if let Some(bytes) = bytes.filter(|bytes| !BUFFER_BYTES.contains(bytes)) {
                let (least, greatest) = (BUFFER_BYTES.start(), BUFFER_BYTES.end());
                let problem = format!("{bytes} is not between {least} and {greatest}");
                return Err(Error::params(field, problem));
            }
        }
        Ok(())
    }

    /// Looks for input as long as asked for. Whoever receives next finds it, or sleeps.
    #[inline]
    pub(super) fn poll_busily(&self, socket: &impl AsRawFd) {
        if self.busy_poll_us == 0 {
            return;
        }
        let end_ns = now_ns() + self.busy_poll_us * 1000;
        let look = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        while recv(socket.as_raw_fd(), &mut [0], look) == Err(nix::Error::EAGAIN) {
            if now_ns() >= end_ns {
                break;
            }
        }
    }
}

/// Whether an endpoint may be at the address; `field` is where the params name it.
pub(super) fn check_address(field: &str, address: Ipv4Addr) -> Result<(), Error> {
    if address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || address.is_broadcast()
    {
        let problem = format!("{address} is not the address of a measured interface");
        return Err(Error::params(field, problem));
    }
    Ok(())
}

/// A socket at `local`, by whose `interface` alone it sends and receives.
pub(super) fn open(
    protocol: Protocol,
    interface: &Interface,
    local: SocketAddrV4,
    options: &Options,
) -> Result<OwnedFd, Error> {
    let opened = bound(protocol, interface, local, options);
    let opened = opened.with_context(|| {
        let name = &interface.name;
        format!(
            "cannot use {local} on {name}; give {name} the address and take a port that is free"
        )
    });
    Ok(opened?)
}

fn bound(
    protocol: Protocol,
    interface: &Interface,
    local: SocketAddrV4,
    options: &Options,
) -> io::Result<OwnedFd> {
    let kind = match protocol {
        Protocol::Tcp => SockType::Stream,
        Protocol::Udp => SockType::Datagram,
    };
    let socket = socket(AddressFamily::Inet, kind, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(
        &socket,
        sockopt::BindToDevice,
        &OsString::from(&interface.name),
    )?;
    if let Some(bytes) = options.send_buffer_bytes {
        setsockopt(&socket, sockopt::SndBufForce, &bytes)?;
    }
    if let Some(bytes) = options.receive_buffer_bytes {
        setsockopt(&socket, sockopt::RcvBufForce, &bytes)?;
    }
    if protocol == Protocol::Tcp {
        // What an earlier connection left in TIME-WAIT does not hold the port.
        setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        setsockopt(&socket, sockopt::TcpNoDelay, &options.no_delay)?;
    }
    bind(socket.as_raw_fd(), &SockaddrIn::from(local))?;
    Ok(socket)
}

/// Has every wait in the socket end after `limit`, so that the waiter can look up.
pub(super) fn limit_waits(socket: &OwnedFd, limit: Duration) -> nix::Result<()> {
    let limit = TimeVal::new(0, limit.as_micros() as libc::suseconds_t);
    setsockopt(socket, sockopt::ReceiveTimeout, &limit)?;
    setsockopt(socket, sockopt::SendTimeout, &limit)
}
