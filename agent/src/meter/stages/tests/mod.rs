//! Frames of known ways and delays, found by the meter; these tests run BPF programs and need root.

mod counts;
mod delays;
mod identity;
mod refusals;
mod tap;

use serde_json::{Value, json};

use super::*;
use crate::traffic::testing::{
    SINK, SOURCE, Sender, comes_about, in_namespace, ip, tc, test_frame, wait_until,
};

fn point(hook: &str, interface: &str) -> Value {
    json!({"hook": hook, "interface": interface})
}

fn trail(name: &str, points: &[Value], stages: &[&str]) -> Value {
    json!({"name": name, "points": points, "stages": stages})
}

/// From a packet socket into the stack at the other end of the pair.
fn there() -> Value {
    let points = [
        point("queue", SOURCE),
        point("transmit", SOURCE),
        point("arrive", SINK),
        point("receive", SINK),
    ];
    trail("there", &points, &["qdisc", "link", "stack"])
}

fn params(trails: &[Value], follow: &str) -> StagesOpenParams {
    let params = json!({"trails": trails, "sample_every": 1, "follow": follow, "packets": 200});
    serde_json::from_value(params).unwrap()
}

fn opened(trails: &[Value], follow: &str) -> Stages {
    Stages::open(&params(trails, follow)).unwrap().0
}

fn collect(stages: &Stages) -> StagesCollectAnswer {
    let (trail, first) = (0, 0);
    stages
        .collect(&StagesCollectParams { trail, first })
        .unwrap()
}

fn await_attributed(stages: &Stages, frames: u64) {
    comes_about(|| collect(stages).frames.attributed >= frames);
    let found = collect(stages);
    let passed: Vec<u64> = found.points.iter().map(|point| point.frames).collect();
    assert_eq!(
        found.frames.attributed, frames,
        "{:?}, at points {passed:?}",
        found.frames
    );
}

fn packets(stages: &Stages) -> Vec<wire::FollowedPacket> {
    let mut all = Vec::new();
    loop {
        let first = all.len() as u32;
        let reply = stages.packets(&StagesPacketsParams { first }).unwrap();
        all.extend(reply.packets);
        if all.len() == reply.kept as usize {
            return all;
        }
    }
}

fn send(sender: &Sender, sequences: impl IntoIterator<Item = u32>) {
    for sequence in sequences {
        sender.send(&test_frame(sequence));
    }
}
