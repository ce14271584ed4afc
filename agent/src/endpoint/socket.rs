//! # Sockets of endpoints: one address, one interface

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use anyhow::Context;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, bind, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

use super::options::{self, SocketOptions};
use super::protocol::Protocol;
use crate::error::Error;
use crate::traffic::interface::Interface;

/// A socket at `local`, by whose `interface` alone it sends and receives.
pub(super) fn open(
    protocol: Protocol,
    interface: &Interface,
    local: SocketAddrV4,
    options: &SocketOptions,
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
    options: &SocketOptions,
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
