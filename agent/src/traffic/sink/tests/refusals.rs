//! What the sink refuses, and what it lets pass.

use libbpf_rs::ProgramInput;

use super::bench::*;
use super::*;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::sink::program::{Armed, PHASE_PROBE, PHASE_WARMUP};
use crate::traffic::sink::wire::AttachMode;

#[test]
#[ignore = "needs root"]
fn frames_of_another_length_are_refused() {
    on_all_programs(|sink| {
        for length in [64, FRAME_BYTES - 1, FRAME_BYTES + 1, 1514] {
            assert!(sink.drops(&frame(0).to_bytes(length)));
        }
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (state.refused_length, state.frames, sink.main().received),
            (4, [0; 4], 0)
        );
    });
}

#[test]
#[ignore = "needs root"]
fn each_length_of_a_mix_is_counted_with_its_bytes() {
    on_all_programs(|sink| {
        sink.memory.disarm().unwrap();
        let armed = Armed {
            frame_bytes: [64, 590, 1514, 64, 64, 64, 64],
            ..ARMED
        };
        sink.memory.arm(armed).unwrap();
        for (sequence, length) in [64, 1514, 590, 64, 591, 65].into_iter().enumerate() {
            assert!(sink.drops(&frame(sequence as u32).to_bytes(length)));
        }
        assert!(sink.drops(&frame(0).to_bytes(64)), "a duplicate");
        let main = sink.main();
        assert_eq!((main.received, main.duplicated), (4, 1));
        assert_eq!(main.bytes, 64 + 1514 + 590 + 64);
        assert_eq!(sink.memory.state().unwrap().refused_length, 2);
    });
}

#[test]
#[ignore = "needs root"]
fn frames_of_another_trial_are_refused() {
    on_all_programs(|sink| {
        sink.receive(TestFrame {
            trial: TRIAL + 1,
            ..frame(0)
        });
        sink.receive(TestFrame {
            trial: 0,
            ..frame(0)
        });
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (state.refused_trial, state.frames, sink.main().received),
            (2, [0; 4], 0)
        );
    });
}

#[test]
#[ignore = "needs root"]
fn frames_of_another_stream_are_refused() {
    on_all_programs(|sink| {
        sink.receive(TestFrame {
            stream: STREAM + 1,
            ..frame(0)
        });
        sink.receive(TestFrame {
            stream: (STREAM - 1) | EXTRA_LANE,
            ..frame(0)
        });
        let state = sink.memory.state().unwrap();
        assert_eq!(
            (state.refused_stream, state.frames, sink.main().received),
            (2, [0; 4], 0)
        );
    });
}

#[test]
#[ignore = "needs root"]
fn an_unarmed_sink_refuses_even_trial_zero() {
    on_all_programs(|sink| {
        sink.memory.disarm().unwrap();
        sink.receive(TestFrame {
            trial: 0,
            stream: 0,
            ..frame(0)
        });
        let state = sink.memory.state().unwrap();
        assert_eq!((state.refused_trial, state.frames), (1, [0; 4]));
    });
}

#[test]
#[ignore = "needs root"]
fn other_traffic_passes() {
    let changed = |offset: usize, value: u8| {
        let mut bytes = frame(0).to_bytes(FRAME_BYTES);
        bytes[offset] = value;
        bytes
    };
    let foreign = [
        ("ARP", changed(13, 0x06)),
        (
            "IPv6",
            [changed(12, 0x86)[..13].to_vec(), vec![0xdd; 60]].concat(),
        ),
        ("IP version 6 under the type of 4", changed(14, 0x65)),
        ("IP options", changed(14, 0x46)),
        ("TCP", changed(23, 6)),
        ("another magic", changed(45, 0)),
        ("phase 0", changed(50, 0)),
        ("phase 4", changed(50, 4)),
        ("phase 0 with the probe flag", changed(50, PHASE_FLAG_PROBE)),
        (
            "a frame cut off before its end",
            frame(0).to_bytes(64)[..63].to_vec(),
        ),
    ];
    on_all_programs(|sink| {
        for (position, (what, bytes)) in foreign.iter().enumerate() {
            assert!(!sink.drops(bytes), "{what} is dropped");
            assert_eq!(
                sink.memory.state().unwrap().foreign,
                position as u64 + 1,
                "{what}"
            );
        }
        assert_eq!(sink.memory.state().unwrap().frames, [0; 4]);
    });
}

#[test]
#[ignore = "needs root"]
fn super_packets_are_refused_by_their_length() {
    on_all_programs(|sink| {
        if sink.mode != AttachMode::Tc {
            return; // XDP sees single frames
        }
        let mut context = super_packet_context();
        let bytes = frame(0).to_bytes(FRAME_BYTES);
        let input = ProgramInput {
            data_in: Some(&bytes),
            context_in: Some(&mut context),
            ..Default::default()
        };
        assert_eq!(
            sink.program
                .progs
                .sink_tc
                .test_run(input)
                .unwrap()
                .return_value,
            TC_ACT_SHOT
        );
        assert_eq!(
            (
                sink.memory.state().unwrap().refused_length,
                sink.main().received
            ),
            (1, 0)
        );
    });
}

#[test]
#[ignore = "needs root"]
fn other_phases_of_the_trial_are_only_counted() {
    on_all_programs(|sink| {
        for phase in [PHASE_PROBE, PHASE_WARMUP, PHASE_WARMUP] {
            sink.receive(TestFrame {
                phase: phase as u8 | PHASE_FLAG_PROBE,
                ..frame(7)
            });
        }
        let state = sink.memory.state().unwrap();
        assert_eq!(state.frames, [0, 1, 2, 0]);
        assert_eq!(
            (
                sink.main().received,
                sink.main().duplicated,
                sink.delay_count()
            ),
            (0, 0, 0)
        );
        assert_eq!((state.first_ns, state.last_ns), (0, 0));
    });
}
