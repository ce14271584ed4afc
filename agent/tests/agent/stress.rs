//! # Stress ends with whatever it was for

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::process::Agent;

/// An agent whose workers are at work.
fn stressed() -> Agent {
    let mut agent = Agent::start(&[]);
    let workers = json!({"cpu_workers": 8, "memory_workers": 4, "memory_bytes": 16 << 20});
    agent.call("stress.open", workers);
    has_threads(&agent, 1);
    agent.call("stress.go", json!({}));
    has_threads(&agent, 13);
    agent
}

/// Waits until the agent has so many threads: one that was joined is listed until the kernel is done with it.
fn has_threads(agent: &Agent, count: usize) {
    let tasks = format!("/proc/{}/task", agent.pid());
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        let found = fs::read_dir(&tasks).unwrap().count();
        if found == count {
            return;
        }
        assert!(Instant::now() < deadline, "{found} threads, not {count}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn its_workers_are_gone_when_it_is_closed() {
    let mut agent = stressed();
    agent.call("stress.close", json!({}));
    has_threads(&agent, 1);
    assert!(agent.reply("stress.collect", json!({}))["error"].is_object());
}

#[test]
fn its_workers_are_gone_when_it_is_collected_and_it_may_go_again() {
    let mut agent = stressed();
    let told = agent.call("stress.collect", json!({}));
    assert_eq!(told["workers"].as_array().unwrap().len(), 12);
    assert_eq!(told["aborted"], false);
    has_threads(&agent, 1);
    agent.call("stress.go", json!({}));
    has_threads(&agent, 13);
}

#[test]
fn an_abort_ends_its_workers() {
    let mut agent = stressed();
    agent.call("abort", json!({}));
    has_threads(&agent, 1);
    assert_eq!(agent.call("stress.collect", json!({}))["aborted"], true);
}

#[test]
fn it_ends_with_its_control_stream() {
    let mut agent = stressed();
    agent.hang_up();
    assert_eq!(agent.exit_status(), 0);
}
