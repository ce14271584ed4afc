//! # Lengths of frames: one, or a mix that goes round
//!
//! A mix is sent as a cycle whose order the caller has chosen: frame n of a phase has the length at place n of it, over and over.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::api::bounds::{self, GREATEST_FRAME_BYTES, LEAST_FRAME_BYTES, LONGEST_CYCLE};
use crate::error::Error;
use crate::traffic::strand::Strands;

/// Most lengths that a sink tells from others: the seven of RFC 6985's genomes.
pub(super) const MOST_LENGTHS: usize = bounds::MOST_LENGTHS as usize;
/// What a frame takes of a link besides itself: preamble 8, gap 12, FCS 4.
const OVERHEAD_BYTES: usize = 24;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Given")]
pub struct Lengths(Vec<usize>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    One(usize),
    Cycle(Vec<usize>),
}

impl JsonSchema for Lengths {
    fn schema_name() -> Cow<'static, str> {
        "Lengths".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The length of all frames in bytes, FCS left out, or those of the frames of a mix's cycle.",
            "anyOf": [
                {"type": "integer", "minimum": LEAST_FRAME_BYTES, "maximum": GREATEST_FRAME_BYTES},
                {
                    "type": "array",
                    "items": {"type": "integer", "minimum": LEAST_FRAME_BYTES, "maximum": GREATEST_FRAME_BYTES},
                    "minItems": 1,
                    "maxItems": LONGEST_CYCLE,
                },
            ],
        })
    }
}

impl From<Given> for Lengths {
    fn from(given: Given) -> Self {
        Self(match given {
            Given::One(frame_bytes) => vec![frame_bytes],
            Given::Cycle(cycle) => cycle,
        })
    }
}

impl Lengths {
    /// The length of each frame of a cycle.
    pub(super) fn cycle(&self) -> &[usize] {
        &self.0
    }

    /// The same for a stream of so many strands: each has the whole mix, in its order.
    pub(super) fn over(&self, strands: Strands) -> Self {
        let each = |&length| std::iter::repeat_n(length, strands.get());
        if self.is_mix() {
            Self(self.0.iter().flat_map(each).collect())
        } else {
            self.clone()
        }
    }

    pub(super) fn is_mix(&self) -> bool {
        self.0.len() > 1
    }

    /// Of checked lengths only, which are some.
    pub(super) fn greatest(&self) -> usize {
        *self.0.iter().max().expect("a cycle has a frame")
    }

    /// Whether every frame of the cycle lies within `allowed`.
    pub(super) fn check(&self, allowed: RangeInclusive<usize>) -> Result<(), Error> {
        if !(1..=LONGEST_CYCLE).contains(&(self.0.len() as u64)) {
            let problem = format!("a mix needs 1 to {LONGEST_CYCLE} frames");
            return Err(Error::params("frame_bytes", problem));
        }
        let distinct: BTreeSet<_> = self.0.iter().collect();
        if distinct.len() > MOST_LENGTHS {
            let problem = format!("a mix has up to {MOST_LENGTHS} lengths");
            return Err(Error::params("frame_bytes", problem));
        }
        let wrong = self.0.iter().find(|length| !allowed.contains(length));
        wrong.map_or(Ok(()), |length| {
            let (least, greatest) = (allowed.start(), allowed.end());
            let problem = format!("{length} is not between {least} and {greatest}");
            Err(Error::params("frame_bytes", problem))
        })
    }

    /// The different lengths of checked lengths, the first again where there are fewer.
    pub(super) fn distinct(&self) -> [u32; MOST_LENGTHS] {
        let distinct: BTreeSet<_> = self.0.iter().collect();
        let mut found = [self.0[0] as u32; MOST_LENGTHS];
        for (to, &length) in found.iter_mut().zip(distinct) {
            *to = length as u32;
        }
        found
    }

    /// What a frame takes of a link, in bytes.
    #[inline]
    pub(super) fn at_layer_1(frame_bytes: usize) -> usize {
        frame_bytes + OVERHEAD_BYTES
    }

    /// When on a full link each frame of a cycle begins, in gaps of a mean frame from the cycle's beginning.
    pub(super) fn offsets(&self) -> Vec<f64> {
        let on_link = |&length: &usize| Self::at_layer_1(length) as f64;
        let mean = self.0.iter().map(on_link).sum::<f64>() / self.0.len() as f64;
        let begin = |before: &mut f64, length| {
            let begins = *before / mean;
            *before += on_link(length);
            Some(begins)
        };
        self.0.iter().scan(0.0, begin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{from_value, json};

    #[test]
    fn a_length_is_a_cycle_of_one() {
        let read = |value| from_value::<Lengths>(value).unwrap();
        assert_eq!(read(json!(64)), read(json!([64])));
        assert!(!read(json!(64)).is_mix());
        let mix = read(json!([64, 1514, 64]));
        assert!(mix.is_mix());
        assert_eq!(mix.greatest(), 1514);
        assert_eq!(mix.distinct(), [64, 1514, 64, 64, 64, 64, 64]);
        assert!(from_value::<Lengths>(json!("imix")).is_err());
    }

    #[test]
    fn each_strand_has_the_whole_mix_in_its_order() {
        let strands: Strands = from_value(json!(2)).unwrap();
        let over = |cycle: &[usize]| Lengths(cycle.to_vec()).over(strands).0;
        assert_eq!(over(&[64, 1514, 300]), [64, 64, 1514, 1514, 300, 300]);
        assert_eq!(over(&[64]), [64]);
    }

    #[test]
    fn a_cycle_has_frames_that_fit() {
        let check = |cycle: &[usize]| {
            let checked = Lengths(cycle.to_vec()).check(64..=1514);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check(&[64, 1514]), Ok(()));
        let outside = "frame_bytes: 1515 is not between 64 and 1514".to_owned();
        assert_eq!(check(&[64, 1515]), Err(outside));
        let count = "frame_bytes: a mix needs 1 to 1024 frames".to_owned();
        assert_eq!(check(&[]), Err(count.clone()));
        assert_eq!(check(&[64; 1025]), Err(count));
        let many = "frame_bytes: a mix has up to 7 lengths".to_owned();
        assert_eq!(check(&[64, 65, 66, 67, 68, 69, 70]), Ok(()));
        assert_eq!(check(&[64, 65, 66, 67, 68, 69, 70, 71]), Err(many));
    }

    proptest! {
        #[test]
        fn each_frame_begins_where_the_one_before_ends(cycle in prop::collection::vec(64_usize..=9014, 1..=50)) {
            let offsets = Lengths(cycle.clone()).offsets();
            let mean = cycle.iter().sum::<usize>() as f64 / cycle.len() as f64 + 24.0;
            prop_assert_eq!(offsets[0], 0.0);
            for (at, pair) in offsets.windows(2).enumerate() {
                prop_assert!(((pair[1] - pair[0]) * mean - cycle[at] as f64 - 24.0).abs() < 1e-6);
            }
            let last = offsets[cycle.len() - 1] * mean + cycle[cycle.len() - 1] as f64 + 24.0;
            prop_assert!((last / mean - cycle.len() as f64).abs() < 1e-9);
        }
    }
}
