//! # Sockets of endpoints: one address, one interface

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use anyhow::Context;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, bind, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

use super::message::{GREATEST_BYTES, GREATEST_DATAGRAM_BYTES};
use super::options::{self, Options};
use crate::Error;
use crate::traffic::interface::Interface;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protocol {
    Tcp,
    Udp,
    /// One association a socket, which is used as a connection is.
    Sctp,
}

impl Protocol {
    /// Whether each message is for itself, and may be lost.
    pub(super) fn is_datagram(self) -> bool {
        self == Self::Udp
    }

    /// Whether one message may be so long.
    pub(super) fn check_bytes(self, field: &str, bytes: usize) -> Result<(), Error> {
        let greatest = match self {
            Self::Tcp | Self::Sctp => GREATEST_BYTES,
            Self::Udp => GREATEST_DATAGRAM_BYTES,
        };
        if bytes > greatest {
            let problem = format!("{bytes} is above the {greatest} that one message may have");
            return Err(Error::params(field, problem));
        }
        Ok(())
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
    let socket = open_unplaced(protocol, interface, options)?;
    bind(socket.as_raw_fd(), &SockaddrIn::from(local)).with_context(|| {
        let name = &interface.name;
        format!(
            "cannot use {local} on {name}; give {name} the address and take a port that is free"
        )
    })?;
    Ok(socket)
}

/// A socket of `interface` alone, whose address and port the kernel finds when it is connected.
pub(super) fn open_unplaced(
    protocol: Protocol,
    interface: &Interface,
    options: &Options,
) -> Result<OwnedFd, Error> {
    let socket = make(protocol)?;
    options::apply(options, protocol, &socket)?;
    let name = OsString::from(&interface.name);
    setsockopt(&socket, sockopt::BindToDevice, &name)
        .with_context(|| format!("cannot stay on {}; is it there?", interface.name))?;
    Ok(socket)
}

fn make(protocol: Protocol) -> anyhow::Result<OwnedFd> {
    let (kind, number) = match protocol {
        Protocol::Tcp => (SockType::Stream, SockProtocol::Tcp),
        Protocol::Udp => (SockType::Datagram, SockProtocol::Udp),
        Protocol::Sctp => (SockType::Stream, SockProtocol::Sctp),
    };
    let made = socket(AddressFamily::Inet, kind, SockFlag::SOCK_CLOEXEC, number);
    made.with_context(|| match protocol {
        Protocol::Sctp => {
            "this kernel has no SCTP: load its module (modprobe sctp), or boot a kernel that has it"
        }
        _ => "cannot make a socket",
    })
}

/// Has no call on the socket wait.
pub(super) fn set_nonblocking(socket: &OwnedFd) -> nix::Result<()> {
    fcntl(socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map(drop)
}

/// Has every wait in the socket end after `limit`, so that the waiter can look up.
pub(super) fn limit_waits(socket: &OwnedFd, limit: Duration) -> nix::Result<()> {
    let (seconds, rest) = (limit.as_secs(), limit.subsec_micros());
    let limit = TimeVal::new(seconds as libc::time_t, libc::suseconds_t::from(rest));
    setsockopt(socket, sockopt::ReceiveTimeout, &limit)?;
    setsockopt(socket, sockopt::SendTimeout, &limit)
}
