//! # Programs of the user's own, confined and supervised

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::network::Namespace;
use crate::process::Agent;

/// An agent in a namespace of its own.
fn alone() -> (Namespace, Agent) {
    let network = Namespace::make();
    let agent = Agent::start(&["--netns", &network.path()]);
    (network, agent)
}

fn script(text: &str) -> Value {
    json!({"argv": ["sh", "-c", text], "environment": {"WHO": "me"}})
}

fn server(text: &str) -> Value {
    json!({"command": script(text), "ready": "at your service", "timeout_ms": 20_000})
}

fn client(text: &str, timeout_ms: u64) -> Value {
    json!({"command": script(text), "iterations": 5, "timeout_ms": timeout_ms})
}

/// What came of a client.
fn run(agent: &mut Agent, text: &str) -> Value {
    agent.call("client.run", client(text, 20_000));
    agent.call("client.collect", json!({}))
}

fn said(told: &Value) -> Vec<String> {
    serde_json::from_value(told["said"].clone()).unwrap()
}

/// The processes of this machine whose command line has the text.
fn processes(text: &str) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0)
                .any(|word| word == text.as_bytes())
        })
        .collect()
}

fn await_one(text: &str) -> i32 {
    loop {
        match processes(text).first() {
            Some(&pid) => return pid,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn await_none(text: &str) {
    while !processes(text).is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "needs root"]
fn samples_are_taken_and_garbage_is_counted() {
    let (_network, mut agent) = alone();
    let told = run(
        &mut agent,
        "echo 7; echo hello $WHO; echo failed; echo oops >&2; for i in 1 2 3 4; do echo 1$i; done; printf 99; exit 3",
    );
    assert_eq!(
        (&told["samples"], &told["excess"], &told["garbage"]),
        (&json!(5), &json!(1), &json!(2)),
        "{told}"
    );
    assert_eq!(told["first_garbage"], "hello me");
    assert_eq!(
        (&told["ended"], &told["succeeded"]),
        (&json!("exit status 3"), &json!(false))
    );
    assert_eq!(said(&told), ["oops"]);
    let samples = agent.call("client.samples", json!({"first": 0}));
    assert_eq!(samples["ns"], json!([7, null, 11, 12, 13]));
    assert_eq!(
        agent.call("client.samples", json!({"first": 4}))["ns"],
        json!([13])
    );
    assert!(
        agent
            .refusal("client.samples", json!({"first": 6}))
            .1
            .contains("6 is beyond")
    );
}

#[test]
#[ignore = "needs root"]
fn programs_have_no_rights_and_leave_nothing() {
    let (_network, mut agent) = alone();
    let content = STANDARD.encode("#!/bin/sh\necho $0 made this > left; cat left >&2\n");
    for (first, piece) in [(true, &content[..24]), (false, &content[24..])] {
        agent.call(
            "program.file",
            json!({"name": "tool", "executable": true, "first": first, "base64": piece}),
        );
    }
    let told = run(
        &mut agent,
        "./tool; touch /tmp/vtax-left /var/tmp/vtax-left /vtax-left; \
         awk '/^(Uid|Gid|Cap|NoNewPrivs)/ {print $1, $2}' /proc/self/status >&2",
    );
    let said = said(&told).join("\n");
    assert!(said.contains("./tool made this"), "{said}");
    assert_eq!(said.matches("Read-only file system").count(), 2, "{said}");
    for fact in ["Uid: 65534", "Gid: 65534", "NoNewPrivs: 1"] {
        assert!(said.contains(fact), "{said}");
    }
    for set in ["Inh", "Prm", "Eff", "Bnd", "Amb"] {
        assert!(
            said.contains(&format!("Cap{set}: 0000000000000000")),
            "{said}"
        );
    }
    for place in ["/tmp/vtax-left", "/var/tmp/vtax-left", "/vtax-left"] {
        assert!(!Path::new(place).exists());
    }
}

#[test]
#[ignore = "needs root"]
fn a_server_is_waited_for_and_why_one_is_not_ready_is_told() {
    let (_network, mut agent) = alone();
    agent.call(
        "server.open",
        server("echo starting; echo now at your service >&2; sleep 600"),
    );
    assert_eq!(
        agent.call("server.collect", json!({}))["ended"],
        Value::Null
    );
    agent.call("server.close", json!({}));

    let ended = agent
        .refusal("server.open", server("echo no such port >&2; exit 4"))
        .1;
    assert!(
        ended.contains("sh has ended before it was ready (exit status 4): no such port"),
        "{ended}"
    );
    let mut slow = server("echo soon; sleep 600");
    slow["timeout_ms"] = json!(300);
    let late = agent.refusal("server.open", slow).1;
    assert!(
        late.ends_with("sh has not said \"at your service\" within 300 ms: soon"),
        "{late}"
    );
    for (argv, why) in [
        (
            json!(["vtax-no-such-program"]),
            "there is no program vtax-no-such-program here",
        ),
        (
            json!(["/etc/passwd"]),
            "/etc/passwd is not executable for everybody",
        ),
        (json!([]), "a command has 1 to 256 words"),
    ] {
        let mut wrong = server("");
        wrong["command"]["argv"] = argv;
        let problem = agent.refusal("server.open", wrong).1;
        assert!(problem.contains(why), "{problem}");
    }
}

#[test]
#[ignore = "needs root"]
fn nothing_of_a_program_outlives_it_whatever_it_does() {
    let (_network, mut agent) = alone();
    // It heeds no signal, and what it has started parts from it.
    let stubborn = "trap '' TERM INT HUP; (setsid sleep 98765.25 &) ; echo at your service; sleep 98765.25; sleep 98765.25";
    agent.call("server.open", server(stubborn));
    await_one("98765.25");
    agent.call("server.close", json!({}));
    assert!(processes("98765.25").is_empty());

    agent.call(
        "client.run",
        client("setsid sleep 98765.5 & echo 1", 20_000),
    );
    assert!(processes("98765.5").is_empty());

    agent.call(
        "server.open",
        server("sleep 98765.75 & echo at your service; wait"),
    );
    await_one("98765.75");
    kill(Pid::from_raw(agent.pid() as i32), Signal::SIGKILL).unwrap();
    await_none("98765.75");
}

#[test]
#[ignore = "needs root"]
fn a_client_that_takes_too_long_or_writes_too_much_is_ended() {
    let (_network, mut agent) = alone();
    agent.call("client.run", client("echo 1; sleep 600", 300));
    let told = agent.call("client.collect", json!({}));
    assert_eq!(
        (&told["stopped"], &told["samples"], &told["succeeded"]),
        (
            &json!("it took longer than 300 ms"),
            &json!(1),
            &json!(false)
        ),
        "{told}"
    );
    let told = run(&mut agent, "yes");
    let why = told["stopped"].as_str().unwrap();
    assert!(why.starts_with("it wrote more than 104"), "{told}");

    let id = agent.request("client.run", client("sleep 600", 600_000));
    agent.abort(id);
    assert_eq!(
        agent.call("client.collect", json!({}))["stopped"],
        "the run was aborted"
    );
}

#[test]
#[ignore = "needs root"]
fn a_server_that_dies_is_told_of_with_its_last_words() {
    let (_network, mut agent) = alone();
    agent.call(
        "server.open",
        server("echo at your service; echo out of luck; sleep 98765.125; exit 9"),
    );
    let watch = agent.request("server.watch", json!({}));
    let sleeper = await_one("98765.125");
    kill(Pid::from_raw(sleeper), Signal::SIGKILL).unwrap();
    let reply = agent.receive();
    assert_eq!(reply["id"], watch);
    let told = &reply["result"];
    assert_eq!(told["ended"], "exit status 9");
    assert!(said(told).contains(&"out of luck".to_owned()), "{told}");
    assert_eq!(agent.call("server.collect", json!({})), *told);
}
