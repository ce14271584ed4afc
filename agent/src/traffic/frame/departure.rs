//! # Departure: when a frame left its source, and how late
//!
//! Both stand in eight bytes: 48 bits of the clock, which begin anew every 78 hours, and 16 bits of lateness, of which the
//! first five tell how far the others are shifted. So lateness is told within a 2048th, from 0 ns to more than an hour.

use crate::traffic::layout::{LATE_BITS, LATE_MANTISSA_BITS};

/// Later frames are told to be as late as this.
const GREATEST_LATE_NS: u64 =
    ((2 << LATE_MANTISSA_BITS) - 1) << ((u16::MAX >> LATE_MANTISSA_BITS) - 1);

/// When a frame departs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) departed_ns: u64,
    /// How long ago it was due.
    pub(crate) late_ns: u64,
}

impl Departure {
    /// Of a frame that was due at no other time.
    #[inline]
    pub(crate) fn at(departed_ns: u64) -> Self {
        Self {
            departed_ns,
            late_ns: 0,
        }
    }

    /// Of a frame that was due then, which is not after it departs.
    #[inline]
    pub(crate) fn due(due_ns: u64, departed_ns: u64) -> Self {
        Self {
            departed_ns,
            late_ns: departed_ns - due_ns,
        }
    }

    /// As it stands in a frame.
    #[inline]
    pub(in crate::traffic) fn field(self) -> u64 {
        self.departed_ns << LATE_BITS | u64::from(told(self.late_ns))
    }
}

/// Lateness in 16 bits, rounded down; frame.h reads it.
#[inline]
fn told(late_ns: u64) -> u16 {
    let late_ns = late_ns.min(GREATEST_LATE_NS);
    let shift = (u64::BITS - late_ns.leading_zeros()).saturating_sub(LATE_MANTISSA_BITS + 1);
    let mantissa = late_ns >> shift;
    // The first bit of a mantissa that is shifted is always set, and adds one to the shift.
    ((u64::from(shift) << LATE_MANTISSA_BITS) + mantissa) as u16
}
