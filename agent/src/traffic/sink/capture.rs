//! The first frames of a trial as they came, handed over in parts that fit into a message.

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut};
use nix::time::{ClockId, clock_gettime};

use super::wire::{CapturedFrame, SinkCaptureAnswer, SinkOpenParams};
use crate::api::bounds;
use crate::api::values::check_whole;
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// Bytes of frames in one reply, as JSON: a message has at most 64 KiB.
const REPLY_BYTES: usize = 60_000;
/// Most bytes of a frame in a reply beside its content.
const FRAME_OVERHEAD_BYTES: usize = 80;
/// `struct captured` of capture.h: time_ns, frame_bytes and kept_bytes, then the frame.
const HEADER_BYTES: usize = 16;

/// How many frames of a stream are kept, and how much of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    pub frames: u32,
    pub snap_bytes: u32,
}

impl Capture {
    pub fn asked(params: &SinkOpenParams) -> Result<Self, Error> {
        let snapped = bounds::LEAST_FRAME_BYTES..=bounds::GREATEST_FRAME_BYTES;
        check_whole("snap_bytes", params.snap_bytes, snapped)?;
        let frames = 0..=bounds::MOST_CAPTURED_FRAMES;
        check_whole("capture_frames", params.capture_frames, frames)?;
        Ok(Self {
            frames: params.capture_frames,
            snap_bytes: params.snap_bytes,
        })
    }

    /// Of one frame in the map, as the kernel aligns it.
    pub fn value_bytes(self) -> u32 {
        (HEADER_BYTES as u32 + self.snap_bytes).next_multiple_of(8)
    }
}

/// The map that the program copies frames into.
#[derive(Debug)]
pub(super) struct Captures {
    map: MapHandle,
}

impl Captures {
    pub fn new(map: &MapMut<'_>) -> anyhow::Result<Self> {
        let map = MapHandle::try_from(map).context("BPF map")?;
        Ok(Self { map })
    }

    /// As many frames as fit into a reply, of the `captured` ones from `first` on.
    pub fn read(&self, first: u32, captured: u32) -> anyhow::Result<SinkCaptureAnswer> {
        let mut frames = Vec::new();
        let mut bytes = 0;
        for place in first..captured {
            let entry = self.frame(place)?;
            let (header, frame) = entry.split_at(HEADER_BYTES);
            let number = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap());
            let kept = STANDARD.encode(&frame[..frame.len().min(number(12) as usize)]);
            bytes += kept.len() + FRAME_OVERHEAD_BYTES;
            if bytes > REPLY_BYTES {
                break; // never at the first
            }
            frames.push(CapturedFrame {
                time_ns: u64::from_ne_bytes(header[..8].try_into().unwrap()),
                frame_bytes: number(8),
                bytes: kept,
            });
        }
        Ok(SinkCaptureAnswer {
            captured,
            clock_offset_ns: realtime_ns() as i64 - now_ns() as i64,
            frames,
        })
    }

    fn frame(&self, place: u32) -> anyhow::Result<Vec<u8>> {
        self.map
            .lookup(&place.to_ne_bytes(), MapFlags::ANY)
            .context("cannot read BPF map \"sink_captures\"")?
            .with_context(|| format!("no frame {place} is captured"))
    }
}

fn realtime_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("every Linux has CLOCK_REALTIME");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
