//! # Records: what a sender sends
//!
//! Records of one length each: one a datagram over UDP, one after the other over TCP and SCTP. A record begins with magic (4 bytes),
//! trial (4), length (4), phase (1), flow (1), two zeros and the sequence within its phase (8), numbers least byte first.
//!
//! That every record says its phase is how a receiver knows the measured window: clocks of two guests need not agree, no message
//! beside the stream can overtake what buffers and queues still hold, and a byte of the warm-up stays one however late it comes.

use super::message::GREATEST_BYTES;
use crate::api::bounds::LEAST_RECORD_BYTES;

pub(super) const HEADER_BYTES: usize = LEAST_RECORD_BYTES as usize;
const MAGIC: [u8; 4] = *b"vtxB";
/// No run comes near it; what is above it was never sent.
const GREATEST_SEQUENCE: u64 = 1 << 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Warmup = 2,
    Measure = 3,
}

/// What a record's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) trial: u32,
    /// Its bytes, the header's among them.
    pub(super) length: usize,
    pub(super) phase: Phase,
    pub(super) flow: u8,
    pub(super) sequence: u64,
}

impl Record {
    pub(super) fn header(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.trial.to_le_bytes());
        bytes[8..12].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes[12] = self.phase as u8;
        bytes[13] = self.flow;
        bytes[16..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    /// What a header says; None where it is none.
    pub(super) fn parse(header: &[u8; HEADER_BYTES]) -> Option<Self> {
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
        let record = Self {
            trial: number(4),
            length: number(8) as usize,
            phase: match header[12] {
                2 => Phase::Warmup,
                3 => Phase::Measure,
                _ => return None,
            },
            flow: header[13],
            sequence: u64::from(number(16)) | u64::from(number(20)) << 32,
        };
        let is_record = header[..4] == MAGIC
            && header[14..16] == [0, 0]
            && (HEADER_BYTES..=GREATEST_BYTES).contains(&record.length)
            && record.sequence <= GREATEST_SEQUENCE;
        is_record.then_some(record)
    }

    /// The record that a datagram is; None where it is none, or not the whole of it.
    pub(super) fn of_datagram(datagram: &[u8]) -> Option<Self> {
        let record = Self::parse(datagram.first_chunk()?)?;
        (record.length == datagram.len()).then_some(record)
    }
}

/// Finds the records of a stream, however it arrives.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    header: [u8; HEADER_BYTES],
    /// Bytes of the header that have come; 0 within what follows it.
    filled: usize,
    record: Option<Record>,
    /// Bytes of the record that are still to come.
    left: usize,
}

/// A part of a record, as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) record: Record,
    /// A header counts when it is whole.
    pub(super) bytes: usize,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

/// What a stream carries where a record was to begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotARecord;

impl Splitter {
    /// Takes the next piece off `bytes`; None once they are used up.
    #[inline]
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Piece>, NotARecord> {
        let is_first = self.left == 0;
        let mut taken = 0;
        if is_first {
            let rest = bytes.len().min(HEADER_BYTES - self.filled);
            let (header, after) = bytes.split_at(rest);
            self.header[self.filled..self.filled + rest].copy_from_slice(header);
            *bytes = after;
            self.filled += rest;
            if self.filled < HEADER_BYTES {
                return Ok(None);
            }
            let record = Record::parse(&self.header).ok_or(NotARecord)?;
            self.filled = 0;
            self.left = record.length - HEADER_BYTES;
            self.record = Some(record);
            taken = HEADER_BYTES;
        }
        let more = bytes.len().min(self.left);
        *bytes = &bytes[more..];
        self.left -= more;
        taken += more;
        let record = self.record.filter(|_| taken > 0);
        Ok(record.map(|record| Piece {
            record,
            bytes: taken,
            is_first,
            is_last: self.left == 0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        let phase = prop_oneof![Just(Phase::Warmup), Just(Phase::Measure)];
        (
            any::<u32>(),
            HEADER_BYTES..200,
            phase,
            any::<u8>(),
            0..=GREATEST_SEQUENCE,
        )
            .prop_map(|(trial, length, phase, flow, sequence)| Record {
                trial,
                length,
                phase,
                flow,
                sequence,
            })
    }

    fn bytes_of(record: &Record) -> Vec<u8> {
        let mut bytes = record.header().to_vec();
        bytes.resize(record.length, 0xee);
        bytes
    }

    /// All pieces of a stream that arrives in parts.
    fn pieces<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Piece>, NotARecord> {
        let mut splitter = Splitter::default();
        let mut pieces = Vec::new();
        for mut part in parts {
            while let Some(piece) = splitter.next(&mut part)? {
                pieces.push(piece);
            }
            assert!(part.is_empty());
        }
        Ok(pieces)
    }

    proptest! {
        #[test]
        fn a_header_says_what_was_written(record in record()) {
            prop_assert_eq!(Record::parse(&record.header()), Some(record));
            prop_assert_eq!(Record::of_datagram(&bytes_of(&record)), Some(record));
        }

        #[test]
        fn a_datagram_that_is_cut_or_too_long_is_no_record(record in record(), cut in 1_usize..200) {
            let mut bytes = bytes_of(&record);
            bytes.truncate(record.length.saturating_sub(cut));
            prop_assert_eq!(Record::of_datagram(&bytes), None);
            let mut bytes = bytes_of(&record);
            bytes.resize(record.length + cut, 0);
            prop_assert_eq!(Record::of_datagram(&bytes), None);
        }

        #[test]
        fn noise_is_no_record(noise in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(Record::of_datagram(&noise), None);
            if noise.len() >= HEADER_BYTES {
                prop_assert_eq!(pieces([&noise[..]]), Err(NotARecord));
            }
        }

        #[test]
        fn a_changed_header_is_no_record_or_another(record in record(), at in 0..HEADER_BYTES, by in 1_u8..) {
            let mut header = record.header();
            header[at] ^= by;
            prop_assert_ne!(Record::parse(&header), Some(record));
        }

        /// Records of one stream, cut at any two bytes.
        #[test]
        fn records_do_not_depend_on_how_their_bytes_arrive(
            records in prop::collection::vec(record(), 1..5),
            cuts in prop::array::uniform2(any::<prop::sample::Index>()),
        ) {
            let stream: Vec<u8> = records.iter().flat_map(bytes_of).collect();
            let mut cuts = cuts.map(|cut| cut.index(stream.len() + 1));
            cuts.sort_unstable();
            let [first, second] = cuts;
            let parts = [&stream[..first], &stream[first..second], &stream[second..]];
            let found = pieces(parts).unwrap();
            for record in &records {
                let of_it = found.iter().filter(|piece| piece.record == *record);
                prop_assert_eq!(of_it.clone().map(|piece| piece.bytes).sum::<usize>() % record.length, 0);
            }
            let begun: Vec<_> = found.iter().filter(|piece| piece.is_first).map(|piece| piece.record).collect();
            prop_assert_eq!(&begun, &records);
            prop_assert_eq!(found.iter().filter(|piece| piece.is_last).count(), records.len());
            prop_assert_eq!(found.iter().map(|piece| piece.bytes).sum::<usize>(), stream.len());
        }

        /// What came of a record that is cut by the stream's end is counted, but for a header that is not whole.
        #[test]
        fn a_record_cut_by_the_end_counts_as_far_as_it_came(record in record(), cut in any::<prop::sample::Index>()) {
            let bytes = bytes_of(&record);
            let end = cut.index(bytes.len());
            let found = pieces([&bytes[..end]]).unwrap();
            let counted: usize = found.iter().map(|piece| piece.bytes).sum();
            prop_assert_eq!(counted, if end < HEADER_BYTES { 0 } else { end });
            prop_assert!(found.iter().all(|piece| !piece.is_last));
        }

        #[test]
        fn noise_after_a_record_is_told(record in record(), noise in any::<[u8; HEADER_BYTES]>()) {
            let bytes = [bytes_of(&record), noise.to_vec()].concat();
            prop_assert_eq!(pieces([&bytes[..]]), Err(NotARecord));
        }
    }
}
