//! # Identity: which measured frame one is, told from its bytes

use super::headers::header_bytes_of;
use super::{FIELDS_BYTES, PHASE_AT, Phase, SEQUENCE_AT};
use crate::traffic::layout::{FRAME_MAGIC, PHASE_FLAG_PROBE};

/// Where trial and stream are after the headers.
const TRIAL_AT: usize = 4;
const STREAM_AT: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    trial: u32,
    /// With the lane.
    stream: u8,
    sequence: u32,
}

impl Identity {
    /// None for what is no test frame, or is none of the measured phase. A tag that is not inside is not missed.
    pub(crate) fn of(frame: &[u8]) -> Option<Self> {
        let fields = frame.get(header_bytes_of(frame)?..)?;
        let fields: &[u8; FIELDS_BYTES] = fields.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|next| fields[at + next]));
        let is_measured =
            word(0) == FRAME_MAGIC && fields[PHASE_AT] & !PHASE_FLAG_PROBE == Phase::Measure as u8;
        is_measured.then(|| Self {
            trial: word(TRIAL_AT),
            stream: fields[STREAM_AT],
            sequence: word(SEQUENCE_AT),
        })
    }
}
