//! Extent of reordering and loss periods, against their definitions.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::bench::*;
use crate::traffic::sink::program::Lane;

const GAPS_KEPT: u32 = 1024;

/// What a lane says, to be compared with the definitions.
#[derive(Debug, PartialEq)]
struct Order {
    reordered: u64,
    extent_sum: u64,
    extent_max: u64,
    displaced: u64,
    loss_periods: u64,
    longest_gap: u64,
}

impl Order {
    fn counted(lane: &Lane) -> Self {
        Self {
            reordered: lane.reordered,
            extent_sum: lane.extent_sum,
            extent_max: lane.extent_max,
            displaced: lane.displaced,
            loss_periods: lane.loss_periods,
            longest_gap: if lane.reordered == 0 {
                lane.longest_gap
            } else {
                0
            },
        }
    }

    /// By the letter of RFC 4737 (3.3, 4.2, 5.3) and RFC 3357; `arrived` has no duplicates.
    fn defined(arrived: &[u32]) -> Self {
        let overtaken = |i: usize| arrived[..i].iter().any(|earlier| *earlier > arrived[i]);
        let extent = |i: usize| (i - arrived.iter().position(|s| *s > arrived[i]).unwrap()) as u64;
        let displaced = |i: usize| i >= 3 && arrived[i - 3..i].iter().all(|s| *s > arrived[i]);
        let late: Vec<usize> = (0..arrived.len()).filter(|&i| overtaken(i)).collect();
        let highest = arrived.iter().max().copied().unwrap_or(0);
        let known: BTreeSet<u32> = arrived.iter().copied().collect();
        let missing: Vec<u32> = (0..highest).filter(|s| !known.contains(s)).collect();
        let periods: Vec<u64> = missing
            .chunk_by(|a, b| a + 1 == *b)
            .map(|period| period.len() as u64)
            .collect();
        Self {
            reordered: late.len() as u64,
            extent_sum: late.iter().map(|&i| extent(i)).sum(),
            extent_max: late.iter().map(|&i| extent(i)).max().unwrap_or(0),
            displaced: late.iter().filter(|&&i| displaced(i)).count() as u64,
            loss_periods: periods.len() as u64,
            longest_gap: if late.is_empty() {
                periods.into_iter().max().unwrap_or(0)
            } else {
                0
            },
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_late_frame_s_extent_counts_from_the_first_that_overtook_it() {
    on_all_programs(|sink| {
        // 2 is overtaken by 3, 4 and 5; 4 by 5 only.
        let main = sink.receive_all([0, 1, 3, 5, 4, 2, 6]);
        assert_eq!((main.reordered, main.extent_max), (2, 3));
        assert_eq!((main.extent_sum, main.displaced), (1 + 3, 1));
        assert_eq!((main.gaps, main.loss_periods), (2, 0));
    });
}

#[test]
#[ignore = "needs root"]
fn an_extent_beyond_what_is_kept_counts_as_the_least_it_can_be() {
    on_all_programs(|sink| {
        // Every frame opens a gap. Of those that 0 and 2 belong into, the second is kept just so.
        let main = sink.receive_all((0..=GAPS_KEPT).map(|place| 2 * place + 1));
        assert_eq!((main.gaps, main.extents_cut), (u64::from(GAPS_KEPT) + 1, 0));
        let main = sink.receive_all([2]);
        assert_eq!((main.extents_cut, main.extent_max), (0, 1024));
        let main = sink.receive_all([0]);
        assert_eq!((main.extents_cut, main.extent_max), (1, 1024));
        assert_eq!(main.extent_sum, 2 * 1024);
    });
}

#[test]
#[ignore = "needs root"]
fn late_frames_split_shorten_and_close_loss_periods() {
    on_all_programs(|sink| {
        let periods = |sequence| sink.receive_all([sequence]).loss_periods;
        assert_eq!([0, 6, 7].map(periods), [0, 1, 1]);
        assert_eq!(periods(3), 2, "1..2 and 4..5");
        assert_eq!([4, 5].map(periods), [2, 1]);
        assert_eq!([1, 2].map(periods), [1, 0]);
        assert_eq!(periods(2), 0, "a duplicate closes nothing");
    });
}

/// Arrivals: a run of sequences with some lost, some sent again, and each displaced by up to `reach`.
fn arrivals(frames: usize, reach: u32) -> impl Strategy<Value = Vec<u32>> {
    let fate = prop_oneof![6 => Just(1), 1 => Just(0), 1 => Just(2)];
    prop::collection::vec((fate, 0..=reach), 1..frames).prop_map(|fates| {
        let mut sent: Vec<(u32, u32)> = fates
            .iter()
            .enumerate()
            .flat_map(|(s, &(copies, late))| vec![(s as u32 + late, s as u32); copies])
            .collect();
        sent.sort();
        sent.into_iter().map(|(_, sequence)| sequence).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    #[ignore = "needs root"]
    fn any_arrivals_are_judged_by_the_definitions(
        arrivals in prop_oneof![arrivals(200, 0), arrivals(200, 3), arrivals(200, 100)]
    ) {
        let mut seen = BTreeSet::new();
        let unique: Vec<u32> = arrivals.iter().copied().filter(|s| seen.insert(*s)).collect();
        let defined = Order::defined(&unique);
        on_all_programs(|sink| {
            let main = sink.receive_all(arrivals.iter().copied());
            assert_eq!(Order::counted(&main), defined);
            assert_eq!(main.duplicated, (arrivals.len() - unique.len()) as u64);
            assert_eq!(main.extents_cut, 0);
        });
    }
}
