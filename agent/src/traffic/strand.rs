//! # Strands: parts of a stream, each sent by one thread
//!
//! Of n strands each has every n-th frame of the stream's one sequence, so that all keep to one schedule without a word between
//! their threads. Their number divides that of the flows: a flow is of one strand, and its frames stay in order. A sink takes
//! order, loss and duplicates strand by strand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::api::bounds::MOST_STRANDS;

/// How many strands a stream has: a power of two, so that a sink tells them apart by bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Strands(u8);

impl Strands {
    pub(crate) const ONE: Self = Self(1);

    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }

    /// How many bits of a sequence tell a frame's strand.
    pub(in crate::traffic) const fn bits(self) -> u32 {
        self.0.trailing_zeros()
    }

    /// Each of them, in order.
    pub(in crate::traffic) fn each(self) -> impl Iterator<Item = Strand> {
        (0..self.0).map(move |place| Strand {
            place: place.into(),
            of: self.0.into(),
        })
    }
}

impl Default for Strands {
    fn default() -> Self {
        Self::ONE
    }
}

impl<'de> Deserialize<'de> for Strands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        if number.is_power_of_two() && u64::from(number) <= MOST_STRANDS {
            return Ok(Self(number));
        }
        let problem = format!("{number} is no power of two from 1 to {MOST_STRANDS}");
        Err(D::Error::custom(problem))
    }
}

impl JsonSchema for Strands {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Strands".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": MOST_STRANDS})
    }
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::traffic) struct Strand {
    pub(in crate::traffic) place: u64,
    of: u64,
}

impl Strand {
    /// The only one of its stream.
    pub(in crate::traffic) const WHOLE: Self = Self { place: 0, of: 1 };

    /// The number in the stream of the strand's own frame `own`, both from 0.
    #[inline]
    pub(in crate::traffic) fn number(self, own: u64) -> u64 {
        own * self.of + self.place
    }

    /// What of a rate of the stream is the strand's.
    pub(in crate::traffic) fn share(self, rate: f64) -> f64 {
        rate / self.of as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};
    use std::collections::BTreeSet;

    #[test]
    fn strands_have_every_frame_once_and_whole_flows() {
        for (strands, flows) in [(1, 1), (2, 6), (4, 4), (8, 1000)] {
            let strands: Strands = from_value(json!(strands)).unwrap();
            let mut numbers = BTreeSet::new();
            let mut flows_seen = BTreeSet::new();
            for strand in strands.each() {
                let own: Vec<u64> = (0..1000).map(|own| strand.number(own)).collect();
                let its: BTreeSet<u64> = own.iter().map(|number| number % flows).collect();
                assert!(its.is_disjoint(&flows_seen));
                flows_seen.extend(its);
                numbers.extend(own);
            }
            assert!(numbers.into_iter().eq(0..1000 * strands.get() as u64));
        }
    }

    #[test]
    fn a_number_of_strands_is_a_power_of_two() {
        for number in [0, 3, 6, 16] {
            let refused = from_value::<Strands>(json!(number))
                .unwrap_err()
                .to_string();
            assert!(
                refused.contains("is no power of two from 1 to 8"),
                "{refused}"
            );
        }
    }
}
