//! Frames of the kernel's packet generator: counted as ours by what their ports tell, without a delay.

use super::bench::*;
use super::*;
use crate::traffic::frame::{PORT_TRIALS, Phase, telling_ports};
use crate::traffic::sink::program::{Armed, LANE_EXTRA};

/// Fits into the ports.
const SMALL_TRIAL: u32 = 0x12_3456;
const PORTS_AT: usize = 34;
const PAYLOAD_AT: usize = 42;

/// As pktgen makes it, `frame_bytes` long, with the sequence counted from 0 and the time of the day.
fn generated(ports: (u16, u16), sequence: u32, frame_bytes: usize) -> Vec<u8> {
    let mut bytes = frame(0).to_bytes(frame_bytes);
    bytes[PORTS_AT..][..2].copy_from_slice(&ports.0.to_be_bytes());
    bytes[PORTS_AT + 2..][..2].copy_from_slice(&ports.1.to_be_bytes());
    let fields = [
        0xbe9b_e955,
        sequence.wrapping_add(1),
        1_700_000_000,
        999_999,
    ];
    bytes[PAYLOAD_AT..].fill(0);
    for (place, field) in bytes[PAYLOAD_AT..].chunks_exact_mut(4).zip(fields) {
        place.copy_from_slice(&u32::to_be_bytes(field));
    }
    bytes
}

fn measured(sequence: u32) -> Vec<u8> {
    let ports = telling_ports(SMALL_TRIAL, Phase::Measure, STREAM);
    generated(ports, sequence, FRAME_BYTES)
}

fn on_all_armed_programs(test: impl Fn(&Bench<'_>)) {
    on_all_programs(|sink| {
        sink.memory.disarm().unwrap();
        sink.memory.arm(small_trial()).unwrap();
        test(sink);
    });
}

fn small_trial() -> Armed {
    Armed {
        trial: SMALL_TRIAL,
        ..ARMED
    }
}

#[test]
#[ignore = "needs root"]
fn loss_duplicates_and_reordering_are_found_as_in_ours() {
    let sequences = [0, 1, 2, 4, 3, 5, 5, 9, 8, 70_000, 65_536];
    on_all_programs(|sink| {
        let ours = sink.receive_all(sequences);
        sink.memory.disarm().unwrap();
        sink.memory.arm(small_trial()).unwrap();
        for sequence in sequences {
            assert!(sink.drops(&measured(sequence)));
        }
        let theirs = sink.main();
        assert_eq!(format!("{theirs:?}"), format!("{ours:?}"));
        assert_eq!(
            (theirs.received, theirs.duplicated, theirs.reordered),
            (10, 1, 3)
        );
        assert_eq!(sink.memory.state().unwrap().frames, [0, 0, 0, 11]);
    });
}

#[test]
#[ignore = "needs root"]
fn they_have_no_delay_and_stand_beside_probes_of_ours() {
    on_all_armed_programs(|sink| {
        let probe = |sequence| TestFrame {
            trial: SMALL_TRIAL,
            ..probe(sequence)
        };
        sink.drops(&measured(0));
        sink.receive(probe(0));
        sink.drops(&measured(1));
        let state = sink.memory.state().unwrap();
        assert_eq!((sink.main().received, sink.delay_count()), (2, 1));
        assert_eq!(state.lanes[LANE_EXTRA].received, 1);
    });
}

#[test]
#[ignore = "needs root"]
fn every_trial_and_stream_is_told_from_its_neighbours() {
    let trials = [0, 1, 0x3f, 0x40, 0x41, SMALL_TRIAL, PORT_TRIALS - 1];
    on_all_programs(|sink| {
        for armed in trials {
            sink.memory.disarm().unwrap();
            sink.memory
                .arm(Armed {
                    trial: armed,
                    ..ARMED
                })
                .unwrap();
            for trial in trials {
                for stream in [0, STREAM, STREAM + 1, 127] {
                    let ports = telling_ports(trial, Phase::Measure, stream);
                    assert!(sink.drops(&generated(ports, trial, FRAME_BYTES)));
                }
            }
            let state = sink.memory.state().unwrap();
            let refused = (state.refused_trial, state.refused_stream);
            assert_eq!(
                (sink.main().received, refused, state.foreign),
                (1, (24, 3), 0)
            );
        }
    });
}

#[test]
#[ignore = "needs root"]
fn other_phases_lengths_and_an_unarmed_sink_count_them_as_ours() {
    on_all_armed_programs(|sink| {
        let warmup = telling_ports(SMALL_TRIAL, Phase::Warmup, STREAM);
        sink.drops(&generated(warmup, 0, FRAME_BYTES));
        sink.drops(&generated(warmup, 1, FRAME_BYTES - 1));
        let state = sink.memory.state().unwrap();
        assert_eq!((state.frames, state.refused_length), ([0, 0, 1, 0], 1));
        assert_eq!(sink.main().received, 0);

        sink.memory.disarm().unwrap();
        assert!(sink.drops(&measured(0)));
        assert_eq!(sink.memory.state().unwrap().refused_trial, 1);
    });
}

#[test]
#[ignore = "needs root"]
fn what_someone_else_s_pktgen_sends_passes() {
    let (source, destination) = telling_ports(SMALL_TRIAL, Phase::Measure, STREAM);
    let mut other_magic = measured(0);
    other_magic[PAYLOAD_AT] ^= 1;
    let foreign = [
        ("pktgen's usual ports", generated((9, 9), 0, FRAME_BYTES)),
        (
            "a low source port",
            generated((source & 0x7fff, destination), 0, FRAME_BYTES),
        ),
        (
            "a low destination port",
            generated((source, destination & 0x7fff), 0, FRAME_BYTES),
        ),
        (
            "no phase",
            generated((source, destination & !0x180), 0, FRAME_BYTES),
        ),
        (
            "the probe phase",
            generated((source, destination & !0x100), 0, FRAME_BYTES),
        ),
        ("another magic", other_magic),
        ("a frame too short for ours", measured(0)[..63].to_vec()),
    ];
    on_all_armed_programs(|sink| {
        for (position, (what, bytes)) in foreign.iter().enumerate() {
            assert!(!sink.drops(bytes), "{what} is dropped");
            let state = sink.memory.state().unwrap();
            assert_eq!(state.foreign, position as u64 + 1, "{what}");
            assert_eq!(state.frames, [0; 4], "{what}");
        }
    });
}
