//! # AF_XDP: frames in shared memory, straight to the driver
//!
//! Copy mode, which every driver has: the kernel copies frames out of our chunks when it is kicked. A chunk is free again
//! when its frame has left the interface. Queueing disciplines are passed by; a driver whose interface has one, and no room, leaves
//! frames in the ring.

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use nix::errno::Errno;

use super::rings::{Consumer, Mapping, Producer};
use super::slots::{Mechanism, Sent};
use crate::traffic::interface::Interface;

/// Bytes of a chunk, one frame's place: the most that the kernel allows everywhere.
const CHUNK_BYTES: usize = 4096;
/// Also the length of both rings, so that neither is ever too short.
const CHUNKS: u32 = 512;
/// What the kernel sends at one kick.
const BATCH: usize = 32;
/// Memory of frames on their way out. More than all chunks take, so that only they set the limit.
const SEND_BUFFER_BYTES: c_int = 4 << 20;
/// A closed socket lets go of its queue only after a grace period of the kernel's.
const REBIND_LIMIT: Duration = Duration::from_secs(2);
const REBIND_PAUSE: Duration = Duration::from_millis(10);
/// How long a driver may refuse the last frames of a phase.
const FLUSH_LIMIT: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct AfXdp {
    /// Closed before the memory goes that it uses.
    socket: OwnedFd,
    frames: Producer<libc::xdp_desc>,
    completions: Consumer<u64>,
    memory: Mapping,
    /// The longest frame.
    place_bytes: usize,
    header_bytes: usize,
    /// Offsets of the chunks that nothing waits in.
    free: Vec<u64>,
    /// The chunk of each slot, and how long the frame in it is.
    slots: [u64; BATCH],
    lengths: [u32; BATCH],
}

impl AfXdp {
    pub(super) fn open(interface: &Interface, queue: u32) -> anyhow::Result<Self> {
        let opened = Self::on_queue(interface, queue);
        let name = &interface.name;
        match opened.as_ref().map_err(io::Error::kind) {
            Err(io::ErrorKind::ResourceBusy) => {
                return Err(anyhow!("another XDP socket holds queue {queue} of {name}"));
            }
            Err(io::ErrorKind::InvalidInput) if queue > 0 => {
                return Err(anyhow!(
                    "{name} has no queue {queue}: each strand's XDP socket needs one of its own"
                ));
            }
            _ => {}
        }
        opened.with_context(|| {
            format!(
                "cannot open an XDP socket on {name}; it needs CAP_NET_RAW and CONFIG_XDP_SOCKETS"
            )
        })
    }

    fn on_queue(interface: &Interface, queue: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call, and a descriptor that is ours alone.
        let socket = unsafe {
            let socket = Errno::result(libc::socket(libc::AF_XDP, kind, 0))?;
            OwnedFd::from_raw_fd(socket)
        };
        let memory = Mapping::anonymous(CHUNKS as usize * CHUNK_BYTES)?;
        // SAFETY: zeros are a valid value of these; so below.
        let mut region: libc::xdp_umem_reg = unsafe { zeroed() };
        region.addr = memory.address();
        region.len = u64::from(CHUNKS) * CHUNK_BYTES as u64;
        region.chunk_size = CHUNK_BYTES as u32;
        set(&socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &region)?;
        // Without a fill ring the kernel binds no socket, though this one receives nothing.
        set(&socket, libc::SOL_XDP, libc::XDP_UMEM_FILL_RING, &1_u32)?;
        set(
            &socket,
            libc::SOL_XDP,
            libc::XDP_UMEM_COMPLETION_RING,
            &CHUNKS,
        )?;
        set(&socket, libc::SOL_XDP, libc::XDP_TX_RING, &CHUNKS)?;
        set(
            &socket,
            libc::SOL_SOCKET,
            libc::SO_SNDBUFFORCE,
            &SEND_BUFFER_BYTES,
        )?;

        let layout = ring_layout(&socket)?;
        let transmit = libc::XDP_PGOFF_TX_RING;
        let completion = libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t;
        let frames = Producer::map(&socket, transmit, &layout.tx, CHUNKS)?;
        let completions = Consumer::map(&socket, completion, &layout.cr, CHUNKS)?;
        bind(&socket, interface, queue)?;

        let mut free: Vec<u64> = (0..u64::from(CHUNKS))
            .map(|chunk| chunk * CHUNK_BYTES as u64)
            .collect();
        let slots = free.split_off(free.len() - BATCH);
        Ok(Self {
            socket,
            frames,
            completions,
            memory,
            place_bytes: 0,
            header_bytes: 0,
            free,
            slots: slots.try_into().expect("a batch of chunks"),
            lengths: [0; BATCH],
        })
    }

    /// Has the kernel send what waits in the ring, and returns how many of these frames the driver dropped.
    fn kick(&mut self) -> Result<usize, Errno> {
        let mut dropped = 0;
        while self.frames.waiting() > 0 {
            let before = self.frames.waiting();
            // SAFETY: nothing is passed but the descriptor.
            let kicked = unsafe {
                let (nothing, nowhere) = (ptr::null(), ptr::null());
                libc::sendto(
                    self.socket.as_raw_fd(),
                    nothing,
                    0,
                    libc::MSG_DONTWAIT,
                    nowhere,
                    0,
                )
            };
            match Errno::result(kicked) {
                // One frame: those before it were sent, those after it wait.
                Err(Errno::EBUSY) => dropped += 1,
                Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS) if self.frames.waiting() == before => {
                    break;
                }
                Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(dropped)
    }
}

impl Mechanism for AfXdp {
    /// Every chunk gets the frame, so that sending writes only the test fields. The kernel reads none of them now: `flush` left
    /// the ring empty.
    fn load(&mut self, frame: &[u8], header_bytes: usize) {
        self.place_bytes = frame.len();
        self.header_bytes = header_bytes;
        self.lengths.fill(frame.len() as u32);
        for chunk in 0..CHUNKS as usize {
            self.memory
                .bytes_mut(chunk * CHUNK_BYTES, frame.len())
                .copy_from_slice(frame);
        }
    }

    fn greatest_frame_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn slots(&self) -> usize {
        BATCH
    }

    #[inline]
    fn headers(&mut self, slot: usize, frame_bytes: usize) -> Option<&mut [u8]> {
        self.lengths[slot] = frame_bytes as u32;
        let chunk = self.slots[slot] as usize;
        Some(self.memory.bytes_mut(chunk, self.header_bytes))
    }

    #[inline]
    fn fields(&mut self, slot: usize) -> &mut [u8] {
        let chunk = self.slots[slot] as usize;
        self.memory.bytes_mut(
            chunk + self.header_bytes,
            self.place_bytes - self.header_bytes,
        )
    }

    /// What a driver that is busy has not taken waits in the ring: a batch of frames at the most.
    fn send(&mut self, count: usize) -> Result<Sent, Errno> {
        let late = if self.frames.waiting() > 0 {
            self.kick()?
        } else {
            0
        };
        if self.frames.waiting() > 0 {
            return Ok(Sent {
                taken: 0,
                dropped: late,
            });
        }
        let free = &mut self.free;
        self.completions.drain(|chunk| free.push(chunk));
        let mut sent = Sent {
            taken: count.min(free.len()),
            dropped: 0,
        };
        for (slot, &length) in self.slots[..sent.taken].iter_mut().zip(&self.lengths) {
            self.frames.push(libc::xdp_desc {
                addr: *slot,
                len: length,
                options: 0,
            });
            *slot = free.pop().expect("as many are free as are taken");
        }
        self.frames.publish();
        sent.dropped = late + self.kick()?;
        Ok(sent)
    }

    fn flush(&mut self) {
        let deadline = Instant::now() + FLUSH_LIMIT;
        while self.kick().is_ok() && self.frames.waiting() > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_micros(100));
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn bind(socket: &OwnedFd, interface: &Interface, queue: u32) -> io::Result<()> {
    // SAFETY: zeros are a valid address.
    let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_flags = libc::XDP_COPY;
    address.sxdp_ifindex = interface.index as u32;
    address.sxdp_queue_id = queue;
    let length = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    let deadline = Instant::now() + REBIND_LIMIT;
    loop {
        // SAFETY: the address outlives the call.
        let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
        match Errno::result(bound) {
            Ok(_) => return Ok(()),
            Err(Errno::EBUSY) if Instant::now() < deadline => thread::sleep(REBIND_PAUSE),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn ring_layout(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: zeros are a valid value; it and its length outlive the call.
    unsafe {
        let mut layout: libc::xdp_mmap_offsets = zeroed();
        let mut length = size_of::<libc::xdp_mmap_offsets>() as libc::socklen_t;
        let asked = libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            libc::XDP_MMAP_OFFSETS,
            (&raw mut layout).cast(),
            &raw mut length,
        );
        Ok(Errno::result(asked).map(|_| layout)?)
    }
}

fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` outlives the call.
    let set = unsafe {
        let value = ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, length)
    };
    Ok(Errno::result(set).map(drop)?)
}
