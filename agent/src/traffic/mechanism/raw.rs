//! # Raw: frames as they are, through a packet socket
//!
//! One system call for one frame or for a batch of them. Every interface takes these.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use super::socket::{BATCH, PacketSocket, Queueing};
use super::{Mechanism, Sent};
use crate::traffic::frame::{GREATEST_FRAME_BYTES, HEADER_BYTES};
use crate::traffic::interface::Interface;

#[derive(Debug)]
pub(super) struct Raw {
    socket: PacketSocket,
    frame_bytes: usize,
    /// [`BATCH`] frames, one after the other.
    frames: Vec<u8>,
}

impl Raw {
    pub(super) fn open(interface: &Interface, queueing: Queueing) -> anyhow::Result<Self> {
        Ok(Self {
            socket: PacketSocket::open(interface, queueing)?,
            frame_bytes: 0,
            frames: Vec::new(),
        })
    }
}

impl Mechanism for Raw {
    fn load(&mut self, frame: &[u8]) {
        self.frame_bytes = frame.len();
        self.frames = frame.repeat(BATCH);
    }

    fn greatest_frame_bytes(&self) -> usize {
        GREATEST_FRAME_BYTES
    }

    fn slots(&self) -> usize {
        BATCH
    }

    #[inline]
    fn fields(&mut self, slot: usize) -> &mut [u8] {
        let frame = &mut self.frames[slot * self.frame_bytes..][..self.frame_bytes];
        &mut frame[HEADER_BYTES..]
    }

    /// A frame that fails, with ENOBUFS for instance, was dropped by the interface. A batch that stops at such a frame does
    /// not say why. The frame is then offered again, in the next call.
    #[inline]
    fn send(&mut self, count: usize) -> Result<Sent, Errno> {
        let frames = &self.frames[..count * self.frame_bytes];
        let sent = match count {
            1 => self.socket.send(frames).map(|()| 1),
            _ => self.socket.send_many(frames, self.frame_bytes),
        };
        Ok(match sent {
            Ok(taken) => Sent::all(taken),
            Err(Errno::EAGAIN) => Sent::NO_ROOM,
            Err(_) => Sent {
                taken: 1,
                dropped: 1,
            },
        })
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
