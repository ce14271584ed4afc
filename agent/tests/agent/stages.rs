//! # `stages.*`: frames followed from outside, through the namespaces of others

use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::query::ProgInfoIter;
use serde_json::{Value, json};

use crate::link::{Encapsulation, Link};
use crate::network::Namespace;
use crate::process::Agent;
use crate::residence::Row;

fn point(hook: &str, namespace: &Namespace, interface: &str) -> Value {
    json!({"hook": hook, "netns": namespace.path(), "interface": interface})
}

#[test]
#[ignore = "needs root"]
fn frames_are_followed_through_a_host_that_forwards_them() {
    for encapsulation in Encapsulation::ALL {
        // Not every kernel can; `residence` has it say so.
        let Ok(mut row) = Row::make(encapsulation) else {
            continue;
        };
        let mut tracer = Agent::start(&[]);
        let points = [
            point("arrive", &row.forwarding, "in0"),
            point("receive", &row.forwarding, "in0"),
            point("queue", &row.forwarding, "out0"),
            point("transmit", &row.forwarding, "out0"),
            point("arrive", &row.sink, "snk0"),
        ];
        let stages = ["driver", "routing", "qdisc", "link"];
        let trail = json!({"name": "through", "points": points, "stages": stages});
        let open = json!({"trails": [trail], "sample_every": 1, "follow": "stamp", "packets": 500});
        tracer.call("stages.open", open);
        let measured = row.send().measured;
        let found = tracer.call("stages.collect", json!({"trail": 0, "first": 0}));
        assert_eq!(found["followed"], measured, "{found}");
        assert_eq!(found["attributed"], measured);
        let sum_ns = |part: &Value| part["sum_ns"].as_u64().unwrap();
        let parts = found["stages"].as_array().unwrap();
        assert!(parts.iter().all(|stage| stage["count"] == measured));
        assert_eq!(
            parts.iter().map(sum_ns).sum::<u64>(),
            sum_ns(&found["total"])
        );
        assert_eq!(kept(&mut tracer), measured);
        tracer.call("stages.close", json!({}));
        assert!(programs(&tracer).is_empty());
    }
}

/// Packets of all replies.
fn kept(tracer: &mut Agent) -> u64 {
    let mut first = 0;
    loop {
        let reply = tracer.call("stages.packets", json!({"first": first}));
        first += reply["packets"].as_array().unwrap().len() as u64;
        if reply["kept"] == first {
            return first;
        }
    }
}

/// The tracing programs that the agent's descriptors hold in place.
fn programs(agent: &Agent) -> HashSet<u32> {
    let descriptors = fs::read_dir(format!("/proc/{}/fdinfo", agent.pid())).unwrap();
    let texts = descriptors.filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok());
    let ids = texts.filter_map(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("prog_id:"));
        line.map(|id| id.trim().parse().unwrap())
    });
    ids.collect()
}

#[test]
#[ignore = "needs root"]
fn a_killed_agent_leaves_nothing_attached() {
    let link = Link::make();
    let mut tracer = Agent::start(&[]);
    let points = [
        point("queue", &link.source, "src0"),
        point("receive", &link.sink, "snk0"),
    ];
    let trail = json!({"name": "there", "points": points, "stages": ["all"]});
    tracer.call(
        "stages.open",
        json!({"trails": [trail], "follow": "headers"}),
    );
    let ours = programs(&tracer);
    assert_eq!(ours.len(), 2);
    let left = || ProgInfoIter::default().any(|program| ours.contains(&program.id));
    assert!(left());
    drop(tracer);
    let deadline = Instant::now() + Duration::from_secs(30);
    while left() {
        assert!(
            Instant::now() < deadline,
            "programs of a killed agent run on"
        );
        thread::sleep(Duration::from_millis(10));
    }
}
