//! # What Rust and the BPF programs lay out alike, each number stated once
//!
//! build.rs includes this file and writes it into the header `layout.h` for the BPF programs.

macro_rules! layout {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[doc = $doc])+ pub(crate) const $name: $kind = $value;)*

        /// Each with its comment.
        #[allow(dead_code, reason = "for build.rs")]
        pub(crate) const ALL: &[(&str, u64, &str)] =
            &[$((stringify!($name), $name as u64, concat!($($doc),+))),*];
    };
}

layout! {
    /// "vtax": the test fields of a frame begin with it.
    FRAME_MAGIC: u32 = 0x7674_6178;
    /// In the phase's byte: delay is taken from this frame.
    PHASE_FLAG_PROBE: u8 = 0x80;
    /// In the stream's byte: a frame of the probe lane, which is sent beside the flood and numbered by itself.
    STREAM_FLAG_EXTRA_LANE: u8 = 0x80;
    /// A frame tells in so many bits how late it departed,
    LATE_BITS: u32 = 16;
    /// and in so many of these its greatest digits, below the first.
    LATE_MANTISSA_BITS: u32 = 11;
    /// Buckets to each power of two in a histogram of delays, as a power of two.
    SUB_BUCKET_BITS: u32 = 7;
    /// Delays of this many bits of nanoseconds and more go to the last bucket: 69 s.
    DELAY_BITS: u32 = 36;
}
