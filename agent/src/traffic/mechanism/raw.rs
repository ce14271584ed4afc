//! # Raw: frames as they are, through a packet socket
//!
//! One system call for one frame or for a batch of them. Every interface takes these.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use super::slots::{Mechanism, Sent};
use super::socket::{BATCH, PacketSocket, Queueing};
use crate::traffic::frame::GREATEST_FRAME_BYTES;
use crate::traffic::interface::Interface;

#[derive(Debug)]
pub(super) struct Raw {
    socket: PacketSocket,
    /// Places of [`BATCH`] frames, one after the other.
    frames: Vec<u8>,
    place_bytes: usize,
    header_bytes: usize,
    /// Of the frame in each place.
    lengths: [usize; BATCH],
}

impl Raw {
    pub(super) fn open(
        interface: &Interface,
        queueing: Queueing,
        strands: usize,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            socket: PacketSocket::open(interface, queueing, strands)?,
            frames: Vec::new(),
            place_bytes: 0,
            header_bytes: 0,
            lengths: [0; BATCH],
        })
    }
}

impl Mechanism for Raw {
    fn load(&mut self, frame: &[u8], header_bytes: usize) {
        self.frames = frame.repeat(BATCH);
        self.place_bytes = frame.len();
        self.header_bytes = header_bytes;
        self.lengths.fill(frame.len());
    }

    fn greatest_frame_bytes(&self) -> usize {
        GREATEST_FRAME_BYTES
    }

    fn slots(&self) -> usize {
        BATCH
    }

    #[inline]
    fn headers(&mut self, slot: usize, frame_bytes: usize) -> Option<&mut [u8]> {
        self.lengths[slot] = frame_bytes;
        Some(&mut self.frames[slot * self.place_bytes..][..self.header_bytes])
    }

    #[inline]
    fn fields(&mut self, slot: usize) -> &mut [u8] {
        let frame = &mut self.frames[slot * self.place_bytes..][..self.place_bytes];
        &mut frame[self.header_bytes..]
    }

    /// A frame that fails, with ENOBUFS for instance, was dropped by the interface. A batch that stops at such a frame does
    /// not say why. The frame is then offered again, in the next call.
    #[inline]
    fn send(&mut self, count: usize) -> Result<Sent, Errno> {
        let lengths = &self.lengths[..count];
        let sent = match lengths {
            &[only] => self.socket.send(&self.frames[..only]).map(|()| 1),
            _ => self
                .socket
                .send_many(&self.frames, self.place_bytes, lengths),
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
