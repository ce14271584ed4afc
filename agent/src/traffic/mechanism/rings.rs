//! # Memory shared with the kernel: a mapping, and rings in one
//!
//! Each ring has one side that produces and one that consumes; a side owns its index and reads the other's.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;

/// Mapped memory, unmapped when this is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the value, not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Zeroed memory of our own.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// What the kernel shares at this offset of the socket.
    pub(super) fn shared(socket: &OwnedFd, offset: libc::off_t, bytes: usize) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Self::map(bytes, flags, socket.as_raw_fd(), offset)
    }

    fn map(bytes: usize, flags: i32, file: i32, offset: libc::off_t) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses an address that is free.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, file, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(Errno::ENOMEM)?;
        Ok(Self { start, bytes })
    }

    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// For memory that nobody else writes: anonymous, and not in the kernel's hands now.
    #[inline]
    pub(super) fn bytes_mut(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        assert!(at + bytes <= self.bytes);
        // SAFETY: within the mapping, which `self` owns.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), bytes) }
    }

    pub(super) fn at<T>(&self, offset: u64) -> NonNull<T> {
        assert!(offset as usize + size_of::<T>() <= self.bytes);
        // SAFETY: within the mapping.
        unsafe { self.start.add(offset as usize).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and nothing borrows it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// One ring of an XDP socket.
#[derive(Debug)]
struct Ring<T> {
    _mapping: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    entries: NonNull<T>,
    mask: u32,
    /// Our side's index, ahead of the shared one until it is published.
    index: u32,
    entry: PhantomData<T>,
}

// SAFETY: the pointers lead into the mapping, which goes with the ring.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// The ring of `length` entries (a power of two) that the kernel laid out at `offset`.
    fn map(
        socket: &OwnedFd,
        offset: libc::off_t,
        layout: &libc::xdp_ring_offset,
        length: u32,
    ) -> io::Result<Self> {
        let bytes = layout.desc as usize + length as usize * size_of::<T>();
        let mapping = Mapping::shared(socket, offset, bytes)?;
        Ok(Self {
            producer: mapping.at(layout.producer),
            consumer: mapping.at(layout.consumer),
            entries: mapping.at(layout.desc),
            _mapping: mapping,
            mask: length - 1,
            index: 0,
            entry: PhantomData,
        })
    }

    #[inline]
    fn producer(&self) -> &AtomicU32 {
        // SAFETY: in the mapping, aligned, and only ever accessed atomically; so `consumer`.
        unsafe { self.producer.as_ref() }
    }

    #[inline]
    fn consumer(&self) -> &AtomicU32 {
        unsafe { self.consumer.as_ref() }
    }

    #[inline]
    fn entry(&self) -> NonNull<T> {
        // SAFETY: the mask keeps it within the ring.
        unsafe { self.entries.add((self.index & self.mask) as usize) }
    }
}

/// The side of a ring that gives entries to the kernel.
#[derive(Debug)]
pub(super) struct Producer<T>(Ring<T>);

impl<T: Copy> Producer<T> {
    pub(super) fn map(
        socket: &OwnedFd,
        offset: libc::off_t,
        layout: &libc::xdp_ring_offset,
        length: u32,
    ) -> io::Result<Self> {
        Ok(Self(Ring::map(socket, offset, layout, length)?))
    }

    /// Entries that the kernel has not taken yet.
    #[inline]
    pub(super) fn waiting(&self) -> u32 {
        let consumer = self.0.consumer().load(Ordering::Acquire);
        self.0.index.wrapping_sub(consumer)
    }

    /// Writes an entry; there has to be room. The kernel sees it after [`Self::publish`].
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        debug_assert!(self.waiting() <= self.0.mask);
        // SAFETY: a place of ours until it is published.
        unsafe { self.0.entry().write(entry) };
        self.0.index = self.0.index.wrapping_add(1);
    }

    #[inline]
    pub(super) fn publish(&mut self) {
        self.0.producer().store(self.0.index, Ordering::Release);
    }
}

/// The side of a ring that takes entries from the kernel.
#[derive(Debug)]
pub(super) struct Consumer<T>(Ring<T>);

impl<T: Copy> Consumer<T> {
    pub(super) fn map(
        socket: &OwnedFd,
        offset: libc::off_t,
        layout: &libc::xdp_ring_offset,
        length: u32,
    ) -> io::Result<Self> {
        Ok(Self(Ring::map(socket, offset, layout, length)?))
    }

    /// Hands every entry that is there to `take`.
    #[inline]
    pub(super) fn drain(&mut self, mut take: impl FnMut(T)) {
        let producer = self.0.producer().load(Ordering::Acquire);
        while self.0.index != producer {
            // SAFETY: below the producer's index: written by the kernel, and ours until released.
            take(unsafe { self.0.entry().read() });
            self.0.index = self.0.index.wrapping_add(1);
        }
        self.0.consumer().store(self.0.index, Ordering::Release);
    }
}
