//! # Messages
//!
//! A request begins with its id, so that an answer, which begins with the request's own bytes, carries as much of the id as both
//! have room for: sequence (8 bytes, least first), trial (4), what it is (4), and of a request its length (4).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use crate::api::bounds::{self, GREATEST_MESSAGE_BYTES};

pub(super) const LEAST_BYTES: usize = 1;
pub(super) const GREATEST_BYTES: usize = GREATEST_MESSAGE_BYTES as usize;
/// What one UDP datagram carries.
pub(super) const GREATEST_DATAGRAM_BYTES: usize = bounds::GREATEST_DATAGRAM_BYTES as usize;

pub(super) const HEADER_BYTES: usize = 20;
pub(super) const ID_BYTES: usize = 16;
const REQUEST: [u8; 4] = *b"vtxQ";
const RESPONSE: [u8; 4] = *b"vtxR";

/// How long an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum ResponseBytes {
    /// As long as its request.
    Equal,
    Bytes(usize),
}

impl JsonSchema for ResponseBytes {
    fn schema_name() -> Cow<'static, str> {
        "ResponseBytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The length of an answer in bytes; `equal` is the length of its request.",
            "oneOf": [
                {"const": "equal"},
                {"type": "integer", "minimum": 1, "maximum": GREATEST_BYTES},
            ],
        })
    }
}

impl TryFrom<Value> for ResponseBytes {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let bytes = value.as_u64().and_then(|bytes| usize::try_from(bytes).ok());
        match bytes {
            Some(bytes) if (1..=GREATEST_BYTES).contains(&bytes) => Ok(Self::Bytes(bytes)),
            None if value == "equal" => Ok(Self::Equal),
            _ => Err(format!(
                "{value} is neither \"equal\" nor a whole number from 1 to {GREATEST_BYTES}"
            )),
        }
    }
}

impl ResponseBytes {
    /// Of the answer to a request of so many bytes.
    pub(super) fn to_request(self, message_bytes: usize) -> usize {
        match self {
            Self::Equal => message_bytes,
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Which request of which trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id {
    pub(super) trial: u32,
    pub(super) sequence: u64,
}

impl Id {
    /// Makes `message` this request, as far as it has room to tell; its length is the request's.
    pub(super) fn write_request(self, message: &mut [u8]) {
        let mut header = [0; HEADER_BYTES];
        header[..ID_BYTES].copy_from_slice(&self.bytes(REQUEST));
        header[ID_BYTES..].copy_from_slice(&(message.len() as u32).to_le_bytes());
        let told = message.len().min(HEADER_BYTES);
        message[..told].copy_from_slice(&header[..told]);
    }

    /// Whether this is the answer to the request of so many bytes, as far as both have room to tell.
    pub(super) fn is_answered_by(self, response: &[u8], message_bytes: usize) -> bool {
        let told = response.len().min(message_bytes).min(ID_BYTES);
        response[..told] == self.bytes(RESPONSE)[..told]
    }

    pub(super) fn bytes(self, what: [u8; 4]) -> [u8; ID_BYTES] {
        let mut bytes = [0; ID_BYTES];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.trial.to_le_bytes());
        bytes[12..].copy_from_slice(&what);
        bytes
    }
}

/// The length of the request that `start`, a header at least, begins; None where it begins none.
pub(super) fn request_bytes(start: &[u8]) -> Option<usize> {
    let length = start[ID_BYTES..HEADER_BYTES].try_into().ok()?;
    let length = u32::from_le_bytes(length) as usize;
    let is_request =
        start[12..ID_BYTES] == REQUEST && (HEADER_BYTES..=GREATEST_BYTES).contains(&length);
    is_request.then_some(length)
}

/// Makes the request at the start of `buffer` its answer, of `response_bytes`, zeros where it is the longer one.
pub(super) fn answer(buffer: &mut [u8], message_bytes: usize, response_bytes: usize) -> &[u8] {
    buffer[12..ID_BYTES].copy_from_slice(&RESPONSE);
    if response_bytes > message_bytes {
        buffer[message_bytes..response_bytes].fill(0);
    }
    &buffer[..response_bytes]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn answered(id: Id, message_bytes: usize, response_bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0xee; GREATEST_BYTES];
        id.write_request(&mut buffer[..message_bytes]);
        if message_bytes >= HEADER_BYTES {
            assert_eq!(request_bytes(&buffer), Some(message_bytes));
        }
        answer(&mut buffer, message_bytes, response_bytes).to_vec()
    }

    #[test]
    fn an_answer_is_as_long_as_was_asked_for() {
        let read = |value: Value| serde_json::from_value::<ResponseBytes>(value);
        assert_eq!(read(json!("equal")).unwrap().to_request(1400), 1400);
        assert_eq!(read(json!(1)).unwrap().to_request(1400), 1);
        assert_eq!(read(json!(65_536)).unwrap().to_request(64), 65_536);
        for wrong in [
            json!(0),
            json!(65_537),
            json!(-1),
            json!(1.5),
            json!("equals"),
            json!(null),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_answer_longer_than_its_request_shows_nothing_of_earlier_ones() {
        let id = Id {
            trial: 1,
            sequence: 2,
        };
        assert!(answered(id, 64, 200)[64..].iter().all(|&byte| byte == 0));
    }

    proptest! {
        #[test]
        fn a_request_is_answered_by_its_answer_only(
            trial in any::<u32>(),
            sequence in any::<u64>(),
            later in 1_u64..256,
            message_bytes in LEAST_BYTES..=GREATEST_BYTES,
            response_bytes in 1..=GREATEST_BYTES,
        ) {
            let id = Id { trial, sequence };
            let response = answered(id, message_bytes, response_bytes);
            prop_assert_eq!(response.len(), response_bytes);
            prop_assert!(id.is_answered_by(&response, message_bytes));
            let next = Id { sequence: sequence.wrapping_add(later), ..id };
            prop_assert!(!next.is_answered_by(&response, message_bytes));
            let other = Id { trial: trial.wrapping_add(1), ..id };
            let told = response_bytes.min(message_bytes);
            prop_assert_eq!(other.is_answered_by(&response, message_bytes), told <= 8);
        }

        #[test]
        fn a_short_request_is_answered_by_its_answer_only(
            sequence in any::<u64>(),
            later in 1_u64..256,
            message_bytes in LEAST_BYTES..HEADER_BYTES,
            response_bytes in 1..=200_usize,
        ) {
            let id = Id { trial: 1, sequence };
            let response = answered(id, message_bytes, response_bytes);
            prop_assert!(id.is_answered_by(&response, message_bytes));
            prop_assert!(response.iter().skip(message_bytes).all(|&byte| byte == 0));
            let next = Id { sequence: sequence.wrapping_add(later), ..id };
            prop_assert!(!next.is_answered_by(&response, message_bytes));
        }

        #[test]
        fn what_is_no_request_is_told(start in prop::collection::vec(any::<u8>(), HEADER_BYTES..200)) {
            prop_assert_eq!(request_bytes(&start), None);
        }

        #[test]
        fn an_answer_is_no_request(sequence in any::<u64>(), message_bytes in HEADER_BYTES..2000) {
            let response = answered(Id { trial: 0, sequence }, message_bytes, message_bytes);
            prop_assert_eq!(request_bytes(&response), None);
        }

        #[test]
        fn lengths_beyond_the_bounds_are_no_requests(length in any::<u32>()) {
            let mut start = [0; HEADER_BYTES];
            Id { trial: 0, sequence: 0 }.write_request(&mut start);
            start[ID_BYTES..HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
            let length = length as usize;
            let within = (HEADER_BYTES..=GREATEST_BYTES).contains(&length);
            prop_assert_eq!(request_bytes(&start), within.then_some(length));
        }
    }
}
