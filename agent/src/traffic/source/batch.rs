//! Frames that leave with one system call.

use crate::traffic::frame::{Addresses, Frame, Phase};

pub const BATCH_FRAMES: usize = 32;

/// BATCH_FRAMES frames of one stream, with the message headers that gather them.
pub struct Batch {
    frames: Vec<Frame>,
    vectors: Vec<libc::iovec>,
    pub(super) messages: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `messages` and `vectors` lead to heap memory of this very batch.
unsafe impl Send for Batch {}

impl Batch {
    pub fn new(addresses: &Addresses, frame_bytes: usize, trial: u32, stream: u8) -> Self {
        let frame = Frame::new(addresses, frame_bytes, trial, stream);
        let mut batch = Self {
            frames: vec![frame; BATCH_FRAMES],
            vectors: Vec::with_capacity(BATCH_FRAMES),
            messages: Vec::with_capacity(BATCH_FRAMES),
        };
        for frame in &mut batch.frames {
            batch.vectors.push(libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: frame_bytes,
            });
        }
        for vector in &mut batch.vectors {
            // SAFETY: all fields of a message header may be zero.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
            batch.messages.push(message);
        }
        batch
    }

    pub fn set_phase(&mut self, phase: Phase) {
        for frame in &mut self.frames {
            frame.set_phase(phase, 0);
        }
    }

    /// Numbers the first `count` frames from `sequence` on.
    #[inline]
    pub fn stamp(&mut self, count: usize, sequence: u32, time_ns: u64) {
        for (number, frame) in (0..).zip(&mut self.frames[..count]) {
            frame.stamp(sequence.wrapping_add(number), time_ns);
        }
    }
}
