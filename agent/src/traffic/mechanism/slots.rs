//! # What a mechanism is whose frames the agent makes

use std::fmt::Debug;
use std::os::fd::BorrowedFd;

use nix::errno::Errno;

/// Slots in which frames wait, and a way to send them.
pub(in crate::traffic) trait Mechanism: Debug + Send {
    /// Makes the frame in every slot one like `frame`, which begins with so many bytes of headers and is no longer
    /// than [`Self::greatest_frame_bytes`]. None becomes longer than `frame` later.
    fn load(&mut self, frame: &[u8], header_bytes: usize);

    /// Longest frame that it takes; the interface may take less.
    fn greatest_frame_bytes(&self) -> usize;

    /// Number of slots: the most frames of one send.
    fn slots(&self) -> usize;

    /// The headers of the frame in `slot`, which is `frame_bytes` long from now on; None where the kernel makes them, which makes
    /// them all alike.
    fn headers(&mut self, slot: usize, frame_bytes: usize) -> Option<&mut [u8]>;

    /// The frame in `slot` from its test fields on.
    fn fields(&mut self, slot: usize) -> &mut [u8];

    /// Offers the frames in the first `count` slots to the interface.
    ///
    /// An error means that the kernel refuses such frames altogether.
    fn send(&mut self, count: usize) -> Result<Sent, Errno>;

    /// Waits until everything taken was given to the interface.
    fn flush(&mut self) {}

    /// Whether [`Sent::dropped`] is known.
    fn sees_drops(&self) -> bool {
        true
    }

    /// What to wait on while there is no room.
    fn descriptor(&self) -> BorrowedFd<'_>;
}

/// What became of the frames that were offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::traffic) struct Sent {
    /// The first so many are done with; none where there is no room.
    pub(in crate::traffic) taken: usize,
    /// Of them, dropped by the interface.
    pub(in crate::traffic) dropped: usize,
}

impl Sent {
    pub(super) const NO_ROOM: Self = Self {
        taken: 0,
        dropped: 0,
    };

    pub(super) fn all(taken: usize) -> Self {
        Self { taken, dropped: 0 }
    }
}
