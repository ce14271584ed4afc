//! The first frames, byte for byte.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libbpf_rs::ProgramInput;

use super::bench::*;
use super::*;
use crate::traffic::sink::capture::Capture;
use crate::traffic::sink::program::PHASE_WARMUP;
use crate::traffic::sink::wire::{AttachMode, CapturedFrame};

/// All captured frames of a bench, with the number of replies that they took.
fn captured(sink: &Bench<'_>) -> (Vec<CapturedFrame>, u32) {
    let captured = sink.memory.state().unwrap().captured;
    let (mut frames, mut replies) = (Vec::new(), 0);
    while frames.len() < captured as usize {
        let reply = sink
            .memory
            .captures
            .read(frames.len() as u32, captured)
            .unwrap();
        assert!(serde_json::to_vec(&reply).unwrap().len() < 61_000);
        frames.extend(reply.frames);
        replies += 1;
    }
    (frames, replies)
}

fn bytes(frame: &CapturedFrame) -> Vec<u8> {
    STANDARD.decode(&frame.bytes).unwrap()
}

#[test]
#[ignore = "needs root"]
fn the_first_frames_are_kept_as_they_came() {
    let capture = Capture {
        frames: 4,
        snap_bytes: 100,
    };
    on_capturing_programs(capture, |sink| {
        let begun = now_ns();
        let mut foreign = frame(0).to_bytes(80);
        foreign[12..14].copy_from_slice(&[0x88, 0xb5]);
        let came = [
            frame(0).to_bytes(FRAME_BYTES),
            foreign,
            frame(1).to_bytes(70),
            frame(2).to_bytes(FRAME_BYTES),
            frame(3).to_bytes(FRAME_BYTES),
        ];
        sink.receive(TestFrame {
            phase: PHASE_WARMUP as u8,
            ..frame(9)
        });
        came.iter().for_each(|frame| _ = sink.drops(frame));

        let (frames, _) = captured(sink);
        assert_eq!(
            frames.len(),
            4,
            "a warm-up's and those beyond the fourth are not"
        );
        for (kept, whole) in frames.iter().zip(&came) {
            assert_eq!(kept.frame_bytes as usize, whole.len());
            assert_eq!(bytes(kept), whole[..whole.len().min(100)]);
        }
        assert!(begun < frames[0].time_ns && frames.is_sorted_by_key(|frame| frame.time_ns));
        assert!(frames[3].time_ns < now_ns());

        sink.memory.disarm().unwrap();
        sink.receive(frame(0));
        assert_eq!(captured(sink).0.len(), 0, "an unarmed sink keeps nothing");
    });
}

#[test]
#[ignore = "needs root"]
fn what_does_not_fit_into_one_reply_comes_in_several() {
    for (count, frame_bytes, expected) in [(20, 3000, 2), (1024, 64, 3)] {
        let capture = Capture {
            frames: count,
            snap_bytes: 9018,
        };
        on_capturing_programs(capture, |sink| {
            for sequence in 0..count {
                sink.drops(&frame(sequence).to_bytes(frame_bytes));
            }
            let (frames, replies) = captured(sink);
            assert_eq!((frames.len() as u32, replies), (count, expected));
            assert!(frames.iter().all(|frame| bytes(frame).len() == frame_bytes));
        });
    }
}

#[test]
#[ignore = "needs root"]
fn a_super_packet_is_kept_whole() {
    let capture = Capture {
        frames: 1,
        snap_bytes: 1500,
    };
    on_capturing_programs(capture, |sink| {
        if sink.mode != AttachMode::Tc {
            return; // XDP sees single frames
        }
        let whole = frame(0).to_bytes(1400);
        let mut context = super_packet_context();
        let input = ProgramInput {
            data_in: Some(&whole),
            context_in: Some(&mut context),
            ..Default::default()
        };
        sink.program.progs.sink_tc.test_run(input).unwrap();
        let (frames, _) = captured(sink);
        assert_eq!((frames[0].frame_bytes, bytes(&frames[0])), (1400, whole));
        assert_eq!(sink.memory.state().unwrap().refused_length, 1);
    });
}
