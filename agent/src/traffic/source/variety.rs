//! # Variety: headers that differ from frame to frame
//!
//! They are made beforehand, for each length of a mix. Only where frames differ are they written at each send.

use crate::traffic::lengths::Lengths;
use crate::traffic::mechanism::Mechanism;

#[derive(Debug)]
pub(super) struct Variety {
    /// What the frames of a cycle begin with.
    cycle: Vec<Beginning>,
}

#[derive(Clone, Debug)]
struct Beginning {
    frame_bytes: usize,
    headers: Vec<u8>,
}

impl Variety {
    /// None where all frames begin alike; `headers` makes those of a frame of a given length.
    pub(super) fn of(lengths: &Lengths, headers: impl Fn(usize) -> Vec<u8>) -> Option<Self> {
        let begin = |&frame_bytes: &usize| Beginning {
            frame_bytes,
            headers: headers(frame_bytes),
        };
        lengths.is_mix().then(|| Self {
            cycle: lengths.cycle().iter().map(begin).collect(),
        })
    }

    /// Makes the frame in `slot` begin as the frame `sequence` does.
    #[inline]
    pub(super) fn begin(&self, mechanism: &mut dyn Mechanism, slot: usize, sequence: u64) {
        let place = sequence % self.cycle.len() as u64;
        let beginning = &self.cycle[place as usize];
        if let Some(headers) = mechanism.headers(slot, beginning.frame_bytes) {
            headers.copy_from_slice(&beginning.headers);
        }
    }
}
