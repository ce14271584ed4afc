//! # Segmented: trains of frames, cut apart by the kernel
//!
//! One datagram with the payloads of many frames goes through a packet socket with a virtio-net header, which asks for
//! UDP segmentation. The kernel gives each segment its headers. The test fields are part of the payloads, so that every frame
//! has its own. Frames carry a UDP checksum, and over IPv4 the identification of each is its place in its train.

use std::mem::size_of;
use std::os::fd::BorrowedFd;

use nix::errno::Errno;

use super::slots::{Mechanism, Sent};
use super::trains::{SLOTS, Trains};
use crate::traffic::frame::{
    GREATEST_FRAME_BYTES, UDP_BYTES, UDP_CHECKSUM_OFFSET, set_payload_bytes,
};
use crate::traffic::interface::Interface;

/// Most segments that every kernel with UDP segmentation takes.
const MOST_SEGMENTS: usize = 64;
/// Most payload of one datagram: the kernel's copy of the train, with what goes with it, fits 64 KiB.
const MOST_PAYLOAD_BYTES: usize = 63 * 1024;

/// `struct virtio_net_hdr` of linux/virtio_net.h, in the machine's byte order.
#[repr(C)]
#[derive(Clone, Copy)]
struct VirtioNetHeader {
    flags: u8,
    gso_type: u8,
    header_bytes: u16,
    segment_bytes: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

const VIRTIO_BYTES: usize = size_of::<VirtioNetHeader>();
const FLAG_NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_UDP_L4: u8 = 5;

#[derive(Debug)]
pub(super) struct Gso {
    /// Each the virtio-net header, the frames' headers, and the payloads one after the other.
    trains: Trains,
    header_bytes: usize,
    payload_bytes: usize,
    /// Frames that the headers in each slot are made for.
    made_for: [usize; SLOTS],
}

impl Gso {
    pub(super) fn open(interface: &Interface, strands: usize) -> anyhow::Result<Self> {
        Ok(Self {
            trains: Trains::open(interface, strands)?,
            header_bytes: 0,
            payload_bytes: 0,
            made_for: [0; SLOTS],
        })
    }

    fn make_headers(&mut self, count: usize) {
        let header = VirtioNetHeader {
            flags: FLAG_NEEDS_CHECKSUM,
            gso_type: if count > 1 { GSO_UDP_L4 } else { GSO_NONE },
            // How much of it the kernel lays out in one piece: all, since it cuts that apart fastest.
            header_bytes: (self.header_bytes + count * self.payload_bytes) as u16,
            segment_bytes: if count > 1 {
                self.payload_bytes as u16
            } else {
                0
            },
            checksum_start: (self.header_bytes - UDP_BYTES) as u16,
            checksum_offset: UDP_CHECKSUM_OFFSET as u16,
        };
        let train = self.trains.train(VIRTIO_BYTES + self.header_bytes);
        let (virtio, headers) = train.split_at_mut(VIRTIO_BYTES);
        virtio.copy_from_slice(&header.bytes());
        set_payload_bytes(headers, count * self.payload_bytes);
        self.made_for[self.trains.slot()] = count;
    }
}

impl VirtioNetHeader {
    fn bytes(self) -> [u8; VIRTIO_BYTES] {
        let mut bytes = [self.flags, self.gso_type, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [
            self.header_bytes,
            self.segment_bytes,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (to, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

impl Mechanism for Gso {
    fn load(&mut self, frame: &[u8], header_bytes: usize) {
        let (headers, payload) = frame.split_at(header_bytes);
        self.header_bytes = header_bytes;
        self.payload_bytes = payload.len();
        let mut train = vec![0; VIRTIO_BYTES];
        train.extend(headers);
        train.extend(payload.repeat(self.slots()));
        self.trains.fill(&train);
        self.made_for = [0; SLOTS];
    }

    fn greatest_frame_bytes(&self) -> usize {
        GREATEST_FRAME_BYTES
    }

    fn slots(&self) -> usize {
        MOST_SEGMENTS.min(MOST_PAYLOAD_BYTES / self.payload_bytes.max(1))
    }

    fn headers(&mut self, _slot: usize, _frame_bytes: usize) -> Option<&mut [u8]> {
        None
    }

    #[inline]
    fn fields(&mut self, slot: usize) -> &mut [u8] {
        let at = VIRTIO_BYTES + self.header_bytes + slot * self.payload_bytes;
        let train = self.trains.train(at + self.payload_bytes);
        &mut train[at..]
    }

    #[inline]
    fn send(&mut self, count: usize) -> Result<Sent, Errno> {
        if count != self.made_for[self.trains.slot()] {
            self.make_headers(count);
        }
        let bytes = VIRTIO_BYTES + self.header_bytes + count * self.payload_bytes;
        match self.trains.send(bytes) {
            // The interface dropped some of the frames, the last among them.
            Ok(()) | Err(Errno::ENOBUFS) => Ok(Sent::all(count)),
            Err(Errno::EAGAIN) => Ok(Sent::NO_ROOM),
            Err(errno) => Err(errno),
        }
    }

    /// The kernel tells only of a train's last frame.
    fn sees_drops(&self) -> bool {
        false
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.trains.descriptor()
    }
}
