//! # Connecting all flows to their receiver

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{SockaddrIn, connect, getsockopt, setsockopt, sockopt};

use super::flow::Flow;
use super::params::SenderOpenParams;
use crate::endpoint::socket;
use crate::endpoint::wait::{LOOK_UP_NS, is_ready, wait};
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::interface::Interface;

/// Connects all flows, one after the other.
pub(super) fn connect_all(
    params: &SenderOpenParams,
    abort: &AtomicBool,
) -> Result<Vec<Flow>, Error> {
    let interface = Interface::find("interface", &params.interface)?;
    let until_ns = now_ns() + params.timeout_ns();
    let connect_one = |flow| {
        let socket = socket::open(params.protocol, &interface, params.local(), &params.options)?;
        prepare(&socket, params).context("cannot set up a sender's socket")?;
        await_connection(&socket, params, until_ns, abort).with_context(|| {
            let remote = params.remote();
            format!("cannot connect flow {flow} to {remote}; open the receiver there first")
        })?;
        Ok(Flow::new(
            socket,
            params.protocol,
            flow,
            params.message_bytes.get(),
        ))
    };
    (0..params.flows.get() as u8).map(connect_one).collect()
}

fn prepare(socket: &OwnedFd, params: &SenderOpenParams) -> nix::Result<()> {
    socket::set_nonblocking(socket)?;
    if params.protocol.is_datagram() {
        // Else a full queue of this machine would drop in silence.
        return setsockopt(socket, sockopt::Ipv4RecvErr, &true);
    }
    // What is unsent when the socket is closed is never sent: a trial's traffic ends with its sender.
    let reset = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    setsockopt(socket, sockopt::Linger, &reset)
}

fn await_connection(
    socket: &OwnedFd,
    params: &SenderOpenParams,
    until_ns: u64,
    abort: &AtomicBool,
) -> io::Result<()> {
    match connect(socket.as_raw_fd(), &SockaddrIn::from(params.remote())) {
        Ok(()) => return Ok(()),
        Err(Errno::EINPROGRESS | Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    loop {
        let now = now_ns();
        let mut watched = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
        wait(&mut watched, Some(until_ns.min(now + LOOK_UP_NS)))?;
        if is_ready(&watched[0]) {
            return match getsockopt(socket, sockopt::SocketError)? {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            };
        }
        if abort.load(Ordering::Relaxed) {
            return Err(io::Error::other("aborted"));
        }
        if now_ns() >= until_ns {
            return Err(Errno::ETIMEDOUT.into());
        }
    }
}
