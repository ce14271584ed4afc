//! # The requester's socket, and how long it is waited for

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockaddrIn, connect, recv, send};

use super::params::RequesterOpenParams;
use crate::endpoint::socket::{self, limit_waits};
use crate::endpoint::sockopt::tcp_info;
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::interface::Interface;

/// Longest wait without a look at whether to end.
const LOOK_UP: Duration = Duration::from_millis(10);

/// Until when a transaction may last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience<'a> {
    pub(super) until_ns: u64,
    pub(super) abort: &'a AtomicBool,
}

impl Patience<'_> {
    /// Whether to go on after `errno`: the socket gives one up now and then, so that its waiter can look up.
    fn outlasts(&self, errno: Errno) -> Result<(), Errno> {
        match errno {
            Errno::EAGAIN | Errno::EINTR | Errno::EINPROGRESS | Errno::EALREADY => self.check(),
            other => Err(other),
        }
    }

    pub(super) fn check(&self) -> Result<(), Errno> {
        let is_over = now_ns() >= self.until_ns || self.abort.load(Ordering::Relaxed);
        if is_over {
            Err(Errno::ETIMEDOUT)
        } else {
            Ok(())
        }
    }
}

/// A socket that is connected to the responder.
#[derive(Debug)]
pub(super) struct Wire<'a> {
    socket: OwnedFd,
    params: &'a RequesterOpenParams,
}

impl<'a> Wire<'a> {
    /// A socket at a port of its own, which no answer to an earlier one can reach.
    pub(super) fn open(
        params: &'a RequesterOpenParams,
        interface: &Interface,
    ) -> Result<Self, Error> {
        let local = SocketAddrV4::new(params.local_address.get(), 0);
        let socket = socket::open(params.protocol, interface, local, &params.options)?;
        Ok(Self { socket, params })
    }

    pub(super) fn connect(&self, patience: Patience<'_>) -> io::Result<()> {
        limit_waits(&self.socket, LOOK_UP)?;
        let remote = SockaddrIn::from(self.params.remote());
        loop {
            match connect(self.socket.as_raw_fd(), &remote) {
                // SCTP tells so who asks again.
                Ok(()) | Err(Errno::EISCONN) => return Ok(()),
                Err(errno) => patience.outlasts(errno)?,
            }
            thread::yield_now();
        }
    }

    /// Segments that TCP has sent again; 0 of other protocols.
    pub(super) fn retransmissions(&self) -> u64 {
        tcp_info(&self.socket).map_or(0, |told| told.tcpi_total_retrans.into())
    }

    #[inline]
    pub(super) fn send(&self, message: &[u8], patience: Patience<'_>) -> io::Result<()> {
        let mut sent = 0;
        while sent < message.len() {
            match send(
                self.socket.as_raw_fd(),
                &message[sent..],
                MsgFlags::MSG_NOSIGNAL,
            ) {
                Ok(more) => sent += more,
                Err(errno) => patience.outlasts(errno)?,
            }
        }
        Ok(())
    }

    /// What has arrived, a datagram or a part of the stream; 0 where the stream has ended.
    #[inline]
    pub(super) fn receive(&self, buffer: &mut [u8], patience: Patience<'_>) -> io::Result<usize> {
        loop {
            self.params.options.poll_busily(&self.socket);
            match recv(self.socket.as_raw_fd(), buffer, MsgFlags::empty()) {
                Ok(length) => return Ok(length),
                Err(errno) => patience.outlasts(errno)?,
            }
        }
    }
}
