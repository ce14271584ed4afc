//! # The control stream

use std::process::Command;

use serde_json::json;

use crate::process::{Agent, PROGRAM};

#[test]
fn the_hello_comes_first() {
    let agent = Agent::start(&[]);
    let hello = &agent.hello;
    assert_eq!(hello["jsonrpc"], "2.0");
    assert_eq!(hello["method"], "hello");
    assert!(hello["id"].is_null());
    let params = &hello["params"];
    assert_eq!(params["protocol"], 1);
    assert_eq!(params["version"], env!("CARGO_PKG_VERSION"));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(params["kernel"], kernel.trim_end());
    assert!(params["cpus"].as_u64().unwrap() >= 1);
    assert!(params["uptime_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn bad_input_is_answered_and_survived() {
    let mut agent = Agent::start(&[]);
    assert_eq!(agent.refusal("sing", json!({})).0, -32_601);
    let (code, message) = agent.refusal("source.open", json!({"cpus": "first", "streams": []}));
    assert_eq!(code, -32_602);
    assert!(message.starts_with("cpus: invalid type"), "{message}");
    let (code, message) = agent.refusal("source.close", json!({"now": true}));
    assert_eq!(code, -32_602);
    assert!(message.contains("now"), "{message}");
    let run = json!({
        "trial": 1, "frame_bytes": 64, "mechanism": "raw", "intended_fps": null, "probe_fps": 200,
        "phases": [{"phase": "measure", "duration_s": 1}],
    });
    let (code, message) = agent.refusal("source.run", run);
    assert_eq!(
        (code, message.as_str()),
        (-32_000, "no source is open; call source.open first")
    );

    agent.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth\n");
    assert_eq!(agent.receive()["error"]["code"], -32_700);
    agent.write(&[b'x'; 200_000]);
    agent.write(b"\n");
    assert_eq!(agent.receive()["error"]["code"], -32_600);
    assert_eq!(agent.call("ping", json!({})), json!({}));
}

#[test]
fn a_lost_peer_ends_the_agent() {
    let mut agent = Agent::start(&["--cpus", "0"]);
    agent.call("ping", json!({}));
    agent.hang_up();
    assert_eq!(agent.exit_status(), 0);
}

#[test]
fn a_line_cut_by_the_end_is_answered() {
    let mut agent = Agent::start(&[]);
    agent.write(b"{\"jsonrpc\"");
    agent.hang_up();
    assert_eq!(agent.receive()["error"]["code"], -32_700);
    assert_eq!(agent.exit_status(), 0);
}

#[test]
#[ignore = "needs root"]
fn the_first_process_of_a_container_is_no_init() {
    let mut agent = Agent::of(Command::new("unshare").args(["--pid", "--fork", PROGRAM]));
    let params = json!({"modules": ["e1000"], "nics": [], "forward": false});
    let (code, message) = agent.refusal("guest.configure", params);
    assert_eq!(code, -32_602);
    assert!(message.starts_with("modules[0]: "), "{message}");
    agent.hang_up();
    assert_eq!(agent.exit_status(), 0);
}

#[test]
fn shutdown_is_answered_before_the_end() {
    let mut agent = Agent::start(&[]);
    assert_eq!(agent.call("shutdown", json!({})), json!({}));
    assert_eq!(agent.exit_status(), 0);
}
