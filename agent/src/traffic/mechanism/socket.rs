//! # Packet sockets
//!
//! AF_PACKET, raw, for sending only, and never blocking.

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use anyhow::Context;
use nix::errno::Errno;

use super::rings::Mapping;
use crate::traffic::interface::Interface;

/// Most frames in one system call.
pub(super) const BATCH: usize = 32;

/// Bytes of memory that frames on their way out of all sockets of a stream may hold; the kernel doubles it.
///
/// The kernel's usual default, set here since a host may have another: it is what makes a flood wait for a full qdisc.
const SEND_BUFFER_BYTES: c_int = 106_496;

/// Whether frames pass the interface's queueing discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::traffic) enum Queueing {
    Qdisc,
    /// Straight to the driver. A full driver drops the frame, and the send fails with ENOBUFS.
    Bypass,
}

#[derive(Debug)]
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// A socket on the interface, for one of so many strands.
    pub(super) fn open(
        interface: &Interface,
        queueing: Queueing,
        strands: usize,
    ) -> anyhow::Result<Self> {
        Self::bound(interface.index, queueing, strands).with_context(|| {
            let name = &interface.name;
            format!("cannot open a packet socket on {name}; grant CAP_NET_RAW")
        })
    }

    fn bound(index: i32, queueing: Queueing, strands: usize) -> io::Result<Self> {
        // Protocol 0: the socket receives nothing.
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a plain system call.
        let socket = Errno::result(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: `socket` is ours alone.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(socket) });
        let bytes = SEND_BUFFER_BYTES / strands as c_int;
        socket.set_option(libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes)?;
        if queueing == Queueing::Bypass {
            socket.set_option(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        }
        socket.bind(index)?;
        Ok(socket)
    }

    /// Gives one frame to the kernel. EAGAIN: not taken, the socket's frames fill their memory.
    #[inline]
    pub(super) fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        // SAFETY: the kernel copies the frame before it returns.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        Errno::result(sent).map(drop)
    }

    /// Gives the kernel up to [`BATCH`] frames of such `lengths`, whose places of `place_bytes` lie one after the other.
    ///
    /// Returns how many of the first it took. Why it stopped early it says only where it took none.
    #[inline]
    pub(super) fn send_many(
        &self,
        frames: &[u8],
        place_bytes: usize,
        lengths: &[usize],
    ) -> Result<usize, Errno> {
        // SAFETY: zeros are valid values of both.
        let mut vectors: [libc::iovec; BATCH] = unsafe { zeroed() };
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let mut count = 0;
        for (((place, &length), vector), message) in frames
            .chunks_exact(place_bytes)
            .zip(lengths)
            .zip(&mut vectors)
            .zip(&mut messages)
        {
            let frame = &place[..length];
            vector.iov_base = frame.as_ptr().cast_mut().cast();
            vector.iov_len = frame.len();
            message.msg_hdr.msg_iov = ptr::from_mut(vector);
            message.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        // SAFETY: the messages and what they point to outlive the call, which does not write to the frames.
        let sent = unsafe { libc::sendmmsg(self.0.as_raw_fd(), messages.as_mut_ptr(), count, 0) };
        Errno::result(sent).map(|sent| sent as usize)
    }

    fn bind(&self, index: i32) -> io::Result<()> {
        // SAFETY: zeros are a valid address; the address outlives the call.
        unsafe {
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = index;
            let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            let bound = libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length);
            Ok(Errno::result(bound).map(drop)?)
        }
    }

    /// What the kernel shares of the socket's ring.
    pub(super) fn shared_memory(&self, bytes: usize) -> io::Result<Mapping> {
        Mapping::shared(&self.0, 0, bytes)
    }

    /// Sets an option whose kernel type is `T`.
    pub(super) fn set_option<T>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` outlives the call.
        let set = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                option,
                ptr::from_ref(value).cast(),
                length,
            )
        };
        Ok(Errno::result(set).map(drop)?)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
