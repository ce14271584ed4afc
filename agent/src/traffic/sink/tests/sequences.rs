//! SinkLoss, duplicates, reordering and runs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::bench::*;
use super::*;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::sink::program::{Armed, LANE_EXTRA, Lane};

#[test]
#[ignore = "needs root"]
fn frames_in_order_are_received() {
    on_all_programs(|sink| {
        let before = now_ns();
        let main = sink.receive_all(0..10);
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (
                main.received,
                main.duplicated,
                main.reordered,
                main.longest_run
            ),
            (10, 0, 0, 10)
        );
        assert_eq!(state.frames, [0, 0, 0, 10]);
        assert!(before <= state.first_ns && state.first_ns < state.last_ns);
        assert!(state.last_ns <= now_ns());
        assert_eq!(
            [
                state.refused_length,
                state.refused_trial,
                state.refused_stream,
                state.foreign
            ],
            [0; 4]
        );
    });
}

#[test]
#[ignore = "needs root"]
fn repeated_sequences_are_duplicates() {
    on_all_programs(|sink| {
        let main = sink.receive_all([0, 1, 1, 2, 0, 2, 3]);
        assert_eq!((main.received, main.duplicated, main.reordered), (4, 3, 0));
        assert_eq!(main.longest_run, 4, "duplicates do not break a run");
        assert_eq!(sink.memory.state().unwrap().frames[PHASE_MEASURE], 7);
    });
}

#[test]
#[ignore = "needs root"]
fn late_sequences_are_reordered() {
    on_all_programs(|sink| {
        // RFC 4737, 4.2.4: 4 is late by one; the frames after it are in order again.
        let main = sink.receive_all([1, 2, 3, 5, 4, 6, 7]);
        assert_eq!((main.received, main.duplicated, main.reordered), (7, 0, 1));
    });
}

#[test]
#[ignore = "needs root"]
fn one_early_frame_reorders_all_that_it_overtook() {
    on_all_programs(|sink| {
        let main = sink.receive_all([0, 5, 1, 2, 3, 4, 6]);
        assert_eq!((main.received, main.reordered, main.longest_run), (7, 4, 4));
    });
}

#[test]
#[ignore = "needs root"]
fn loss_is_no_reordering_and_breaks_the_run() {
    on_all_programs(|sink| {
        let main = sink.receive_all((0..5).chain(6..9).chain(20..21));
        assert_eq!(
            (
                main.received,
                main.duplicated,
                main.reordered,
                main.longest_run
            ),
            (9, 0, 0, 5)
        );
    });
}

#[test]
#[ignore = "needs root"]
fn a_duplicate_is_known_while_the_window_holds_it() {
    const WINDOW: u32 = 65536;
    on_all_programs(|sink| {
        sink.receive_all([0, WINDOW - 1, 0]);
        assert_eq!(sink.main().duplicated, 1);
        // The next frame takes the slot of sequence 0, and keeps it against a straggler.
        let main = sink.receive_all([WINDOW, 0, WINDOW]);
        assert_eq!((main.received, main.duplicated, main.reordered), (4, 2, 1));
    });
}

#[test]
#[ignore = "needs root"]
fn extra_probes_have_a_sequence_of_their_own() {
    on_all_programs(|sink| {
        sink.receive_all([0, 1, 2]);
        let after_main = sink.memory.state().unwrap();
        for sequence in [0, 2, 2, 1] {
            sink.receive(probe(sequence));
        }
        let state = sink.memory.state().unwrap();
        let extra = state.lanes[LANE_EXTRA];
        assert_eq!(
            (extra.received, extra.duplicated, extra.reordered),
            (3, 1, 1)
        );
        assert_eq!(
            (
                sink.main().received,
                sink.main().duplicated,
                sink.main().longest_run
            ),
            (3, 0, 3)
        );
        assert_eq!(state.frames, after_main.frames);
        assert_eq!(
            state.last_ns, after_main.last_ns,
            "extra probes do not stretch the throughput's window"
        );
        assert_eq!(sink.delay_count(), 3, "of extra probes without duplicates");
    });
}

#[test]
#[ignore = "needs root"]
fn arming_forgets_everything() {
    on_all_programs(|sink| {
        sink.receive(TestFrame {
            phase: PHASE_MEASURE as u8 | PHASE_FLAG_PROBE,
            ..frame(3)
        });
        sink.receive(TestFrame {
            trial: 0,
            ..frame(3)
        });
        sink.memory.disarm().unwrap();
        sink.memory.arm(ARMED).unwrap();
        assert_eq!(sink.delay_count(), 0);
        let main = sink.receive_all([3]);
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (main.received, main.duplicated, state.refused_trial),
            (1, 0, 0)
        );
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Any order of arrival with loss and duplicates, against definitions written the long way.
    #[test]
    #[ignore = "needs root"]
    fn any_arrival_order_is_judged_by_the_definitions(
        sequences in prop::collection::vec(0..60u32, 1..80)
    ) {
        let mut seen = BTreeSet::new();
        let unique: Vec<u32> = sequences.iter().copied().filter(|s| seen.insert(*s)).collect();
        let overtaken = |i: &usize| unique[..*i].iter().any(|earlier| *earlier > unique[*i]);
        let reordered = (0..unique.len()).filter(overtaken).count();
        let longest_run = unique.chunk_by(|a, b| a + 1 == *b).map(<[u32]>::len).max().unwrap();
        on_all_programs(|sink| {
            let main = sink.receive_all(sequences.iter().copied());
            assert_eq!(main.received, unique.len() as u64);
            assert_eq!(main.duplicated, (sequences.len() - unique.len()) as u64);
            assert_eq!(main.reordered, reordered as u64);
            assert_eq!(main.longest_run, longest_run as u64);
        });
    }
}

#[test]
#[ignore = "needs root"]
fn strands_have_their_order_apart() {
    on_all_programs(|sink| {
        let strands = serde_json::from_value(serde_json::json!(4)).unwrap();
        sink.memory.disarm().unwrap();
        sink.memory.arm(Armed { strands, ..ARMED }).unwrap();
        // Strand 0 is far ahead of the others, 1 lost a frame, 2 has one twice, 3 one late.
        let sequences = [0, 4, 8, 12, 1, 9, 2, 2, 6, 3, 11, 7];
        sink.receive_all(sequences);
        let state = sink.memory.state().unwrap();
        let of = |of: fn(&Lane) -> u64| state.strands().iter().map(of).collect::<Vec<_>>();
        assert_eq!(of(|lane| lane.received), [4, 2, 2, 3]);
        assert_eq!(of(|lane| lane.next_expected), [4, 3, 2, 3]);
        assert_eq!(of(|lane| lane.duplicated), [0, 0, 1, 0]);
        assert_eq!(of(|lane| lane.reordered), [0, 0, 0, 1]);
        assert_eq!(of(|lane| lane.loss_periods), [0, 1, 0, 0]);
        assert_eq!(state.received(), 11);
    });
}
