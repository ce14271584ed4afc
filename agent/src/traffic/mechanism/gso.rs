//! # Segmented: trains of frames, cut apart by the kernel
//!
//! One datagram with the payloads of many frames goes through a packet socket with a virtio-net header, which asks for
//! UDP segmentation. The kernel gives each segment its headers. The test fields are part of the payloads, so that every frame
//! has its own. Frames carry a UDP checksum, and over IPv4 the identification of each is its place in its train.

use std::ffi::c_int;
use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd};

use anyhow::Context;
use nix::errno::Errno;

use super::socket::{PacketSocket, Queueing};
use super::{Mechanism, Sent};
use crate::traffic::frame::{
    GREATEST_FRAME_BYTES, UDP_CHECKSUM_OFFSET, set_payload_bytes, udp_header,
};
use crate::traffic::interface::Interface;

/// Most segments that every kernel with UDP segmentation takes.
const MOST_SEGMENTS: usize = 64;
/// Most payload of one datagram, by 16 bits of length and the longer headers, those of IPv6.
const MOST_PAYLOAD_BYTES: usize = 65_535 - 40 - 8;

/// PACKET_VNET_HDR of linux/if_packet.h.
const PACKET_VNET_HDR: c_int = 15;

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
    socket: PacketSocket,
    header_bytes: usize,
    payload_bytes: usize,
    /// The virtio-net header, the frames' headers, and the payloads one after the other.
    train: Vec<u8>,
    /// Frames that the headers are made for.
    made_for: usize,
}

impl Gso {
    pub(super) fn open(interface: &Interface) -> anyhow::Result<Self> {
        let socket = PacketSocket::open(interface, Queueing::Qdisc)?;
        socket
            .set_option(libc::SOL_PACKET, PACKET_VNET_HDR, 1)
            .context("the kernel's packet sockets take no virtio-net header")?;
        Ok(Self {
            socket,
            header_bytes: 0,
            payload_bytes: 0,
            train: Vec::new(),
            made_for: 0,
        })
    }

    fn make_headers(&mut self, count: usize) {
        let (virtio, packet) = self.train.split_at_mut(VIRTIO_BYTES);
        let headers = &mut packet[..self.header_bytes];
        let header = VirtioNetHeader {
            flags: FLAG_NEEDS_CHECKSUM,
            gso_type: if count > 1 { GSO_UDP_L4 } else { GSO_NONE },
            header_bytes: self.header_bytes as u16,
            segment_bytes: if count > 1 {
                self.payload_bytes as u16
            } else {
                0
            },
            checksum_start: (self.header_bytes - udp_header(headers).len()) as u16,
            checksum_offset: UDP_CHECKSUM_OFFSET as u16,
        };
        virtio.copy_from_slice(&header.bytes());
        set_payload_bytes(headers, count * self.payload_bytes);
        self.made_for = count;
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
        self.train = vec![0; VIRTIO_BYTES];
        self.train.extend(headers);
        self.train.extend(payload.repeat(self.slots()));
        self.made_for = 0;
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
        let payloads = &mut self.train[VIRTIO_BYTES + self.header_bytes..];
        &mut payloads[slot * self.payload_bytes..][..self.payload_bytes]
    }

    #[inline]
    fn send(&mut self, count: usize) -> Result<Sent, Errno> {
        if count != self.made_for {
            self.make_headers(count);
        }
        let bytes = VIRTIO_BYTES + self.header_bytes + count * self.payload_bytes;
        match self.socket.send(&self.train[..bytes]) {
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
        self.socket.as_fd()
    }
}
