//! # A ring of trains, shared with a packet socket
//!
//! The kernel copies a train out of its slot, headers and payloads together, before a send returns. The ring serves for what
//! goes with it: the segments of such a train are not charged to the socket one by one, which costs a tenth of their time.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use nix::errno::Errno;

use super::rings::Mapping;
use super::socket::{PacketSocket, Queueing};
use crate::traffic::interface::Interface;

/// One is written while the other waits in the interface's queue. No more than a socket's send buffer holds.
pub(super) const SLOTS: usize = 2;
/// A power of two that holds a train.
const SLOT_BYTES: usize = 128 * 1024;
/// Where a train begins in its slot: behind `struct tpacket2_hdr`.
const TRAIN_AT: usize = size_of::<libc::tpacket2_hdr>();
/// Where the slot's status and the train's length stand in that header.
const STATUS_AT: usize = 0;
const LENGTH_AT: usize = 4;

/// PACKET_VNET_HDR of linux/if_packet.h.
const PACKET_VNET_HDR: libc::c_int = 15;

/// Whose turn a slot is: TP_STATUS_* of linux/if_packet.h.
const OURS: u32 = 0;
const TO_BE_SENT: u32 = 1;

#[derive(Debug)]
pub(super) struct Trains {
    memory: Mapping,
    socket: PacketSocket,
    current: usize,
}

impl Trains {
    pub(super) fn open(interface: &Interface, strands: usize) -> anyhow::Result<Self> {
        let socket = PacketSocket::open(interface, Queueing::Qdisc, strands)?;
        let set = |option, value| socket.set_option(libc::SOL_PACKET, option, value);
        set(PACKET_VNET_HDR, &1)
            .context("the kernel's packet sockets take no virtio-net header")?;
        set(
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as libc::c_int),
        )
        .context("the kernel's packet sockets have no rings of version 2")?;
        let layout = libc::tpacket_req {
            tp_block_size: SLOT_BYTES as u32,
            tp_block_nr: SLOTS as u32,
            tp_frame_size: SLOT_BYTES as u32,
            tp_frame_nr: SLOTS as u32,
        };
        socket
            .set_option(libc::SOL_PACKET, libc::PACKET_TX_RING, &layout)
            .and_then(|()| socket.shared_memory(SLOTS * SLOT_BYTES))
            .map(|memory| Self {
                memory,
                socket,
                current: 0,
            })
            .context("cannot share memory with a packet socket")
    }

    /// Number of the slot whose train is sent next.
    #[inline]
    pub(super) fn slot(&self) -> usize {
        self.current
    }

    /// The first `bytes` of the next train: virtio-net header, headers, payloads.
    #[inline]
    pub(super) fn train(&mut self, bytes: usize) -> &mut [u8] {
        let at = self.current * SLOT_BYTES + TRAIN_AT;
        self.memory.bytes_mut(at, bytes)
    }

    /// Writes the same train into every slot.
    pub(super) fn fill(&mut self, train: &[u8]) {
        for _ in 0..SLOTS {
            self.train(train.len()).copy_from_slice(train);
            self.current = (self.current + 1) % SLOTS;
        }
    }

    /// Sends the next train, of so many bytes. EAGAIN: not taken, all slots wait in the interface's queue.
    #[inline]
    pub(super) fn send(&mut self, bytes: usize) -> Result<(), Errno> {
        if self.word(STATUS_AT).load(Ordering::Acquire) != OURS {
            return Err(Errno::EAGAIN);
        }
        self.word(LENGTH_AT).store(bytes as u32, Ordering::Relaxed);
        self.word(STATUS_AT).store(TO_BE_SENT, Ordering::Release);
        let sent = self.socket.send(&[]);
        match sent {
            Ok(()) => self.current = (self.current + 1) % SLOTS,
            // The kernel stays at this slot, and would send the train a second time.
            Err(_) => self.word(STATUS_AT).store(OURS, Ordering::Release),
        }
        sent
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        let word = self.memory.at((self.current * SLOT_BYTES + at) as u64);
        // SAFETY: within the mapping, aligned, and kernel and we access it whole.
        unsafe { word.as_ref() }
    }
}
