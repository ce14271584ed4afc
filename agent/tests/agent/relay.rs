//! # Rings of relays, each a process of its own

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::ends::{Ends, FAR, NEAR};
use crate::network::Namespace;
use crate::process::Agent;

const HERE: &str = "127.0.0.1";
const PORT: u16 = 5100;

/// An agent in a namespace that reaches itself.
fn alone() -> (Namespace, Agent) {
    let network = Namespace::make();
    network.ip("link set lo up");
    let agent = Agent::start(&["--netns", &network.path()]);
    (network, agent)
}

fn relay(mode: &str, message_bytes: usize, load: Value) -> Value {
    json!({"mode": mode, "cpu": null, "message_bytes": message_bytes, "load": load})
}

/// A way from one port to another of the same host.
fn way(protocol: &str, connection: &str, port: u16, next_port: u16) -> Value {
    json!({"network": {
        "protocol": protocol, "connection": connection, "interface": "lo", "address": HERE, "port": port,
        "next_address": HERE, "next_port": next_port, "timeout_ms": 500,
    }})
}

/// All relays of a ring on one host.
fn ring(protocol: &str, connection: &str, hops: u16, message_bytes: usize) -> Value {
    let relays = (0..hops).map(|hop| {
        let mode = if hop == 0 { "master" } else { "forwarder" };
        let (port, next_port) = (PORT + hop, PORT + (hop + 1) % hops);
        relay(
            mode,
            message_bytes,
            way(protocol, connection, port, next_port),
        )
    });
    json!({"relays": relays.collect::<Vec<_>>()})
}

fn go(iterations: usize) -> Value {
    json!({"trial": 7, "iterations": iterations, "interval_ms": null})
}

/// The times of a run, and how what failed ended.
fn samples(agent: &mut Agent) -> (Vec<u64>, Vec<(usize, String)>) {
    let (mut ns, mut undone) = (vec![], vec![]);
    loop {
        let reply = agent.call("relay.samples", json!({"first": ns.len()}));
        ns.extend(serde_json::from_value::<Vec<u64>>(reply["ns"].clone()).unwrap());
        undone.extend(serde_json::from_value::<Vec<_>>(reply["undone"].clone()).unwrap());
        if ns.len() as u64 >= reply["iterations"].as_u64().unwrap() {
            return (ns, undone);
        }
    }
}

/// The processes of an agent's relays, in their order.
fn processes(agent: &Agent) -> Vec<i32> {
    let pid = agent.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

#[test]
#[ignore = "needs root"]
fn messages_go_round_whatever_carries_them() {
    let (_network, mut agent) = alone();
    for protocol in ["tcp", "udp"] {
        for connection in ["fresh", "persistent"] {
            for (hops, message_bytes) in [(1, 4), (3, 64), (8, 1400)] {
                agent.call(
                    "relay.open",
                    ring(protocol, connection, hops, message_bytes),
                );
                assert_eq!(processes(&agent).len(), usize::from(hops));
                let run = agent.call("relay.go", go(1600));
                let what = format!("{protocol} {connection} {hops}: {run}");
                assert_eq!(run["given_up"], false, "{what}");
                let told = agent.call("relay.collect", json!({}));
                assert_eq!(told["completed"], 1600, "{what} {told}");
                assert_eq!(
                    (&told["failed"], &told["refused"]),
                    (&json!(0), &json!(0)),
                    "{told}"
                );
                let (ns, undone) = samples(&mut agent);
                assert_eq!((ns.len(), undone.len()), (1600, 0));
                let wall_ns = run["end_ns"].as_u64().unwrap() - run["start_ns"].as_u64().unwrap();
                assert!(ns.iter().all(|&ns| ns > 0) && ns.iter().sum::<u64>() <= wall_ns);
            }
        }
    }
    agent.call("relay.close", json!({}));
    assert!(processes(&agent).is_empty());
}

#[test]
#[ignore = "needs root"]
fn fresh_connections_outlast_the_ports() {
    let (network, mut agent) = alone();
    network.within(|| fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40099").unwrap());
    for hops in [1, 2] {
        agent.call("relay.open", ring("tcp", "fresh", hops, 4));
        agent.call("relay.go", go(3000));
        let told = agent.call("relay.collect", json!({}));
        assert_eq!(told["completed"], 3000, "{told}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_ring_goes_from_host_to_host() {
    let mut ends = Ends::make();
    let across = |mode: &str, own: (&str, &str), next: &str| {
        let (interface, address) = own;
        let mut load = way("tcp", "fresh", PORT, PORT);
        let way = load["network"].as_object_mut().unwrap();
        way.extend(
            json!({"interface": interface, "address": address, "next_address": next})
                .as_object()
                .unwrap()
                .clone(),
        );
        json!({"relays": [relay(mode, 20, load)]})
    };
    ends.responder
        .call("relay.open", across("forwarder", ("snk0", FAR), NEAR));
    ends.requester
        .call("relay.open", across("master", ("src0", NEAR), FAR));
    ends.requester.call("relay.go", go(200));
    let told = ends.requester.call("relay.collect", json!({}));
    assert_eq!(told["completed"], 200, "{told}");
}

#[test]
#[ignore = "needs root"]
fn without_a_network_there_are_the_loops_of_the_null_tests() {
    let (_network, mut agent) = alone();
    for (load, output_bytes) in [
        (json!("nothing"), Value::Null),
        (json!({"output": "line"}), json!(50_000)),
        (json!({"output": "full"}), json!(50_000)),
    ] {
        agent.call("relay.open", json!({"relays": [relay("master", 10, load)]}));
        agent.call("relay.go", go(5000));
        assert_eq!(samples(&mut agent).0.len(), 5000);
        let closed = agent.call("relay.close", json!({}));
        assert_eq!(closed["output_bytes"], output_bytes);
    }
}

#[test]
#[ignore = "needs root"]
fn runs_begin_iterations_at_their_times() {
    let (_network, mut agent) = alone();
    agent.call("relay.open", ring("tcp", "fresh", 1, 4));
    let run = agent.call(
        "relay.go",
        json!({"trial": 7, "iterations": 20, "interval_ms": 5}),
    );
    assert!(run["end_ns"].as_u64().unwrap() - run["start_ns"].as_u64().unwrap() >= 95_000_000);
}

#[test]
#[ignore = "needs root"]
fn what_is_no_message_fails_the_iteration_and_the_ring_goes_on() {
    let (network, mut agent) = alone();
    // The test itself is the other relay.
    let listener = network.within(|| TcpListener::bind((HERE, PORT + 1)).unwrap());
    let load = way("tcp", "fresh", PORT, PORT + 1);
    agent.call("relay.open", json!({"relays": [relay("master", 64, load)]}));
    let id = agent.request("relay.go", go(6));
    let mut first = vec![];
    for iteration in 0..6 {
        let mut message = vec![0; 64];
        let (mut came, _) = listener.accept().unwrap();
        came.read_exact(&mut message).unwrap();
        let said = match iteration {
            0 => Some(vec![0xee; 64]),
            1 => Some(message[..20].to_vec()),
            2 => Some(vec![]),
            // Nothing at all; what comes too late for it is passed over in the next.
            3 => None,
            4 => Some([&message[..], b"more"].concat()),
            _ => {
                network.within({
                    let first = first.clone();
                    move || say(&first)
                });
                Some(message.clone())
            }
        };
        if iteration == 3 {
            first = message;
        }
        if let Some(said) = said {
            network.within(move || say(&said));
        }
        drop(came);
    }
    assert_eq!(agent.receive()["id"], id);
    let told = agent.call("relay.collect", json!({}));
    assert_eq!(
        (&told["completed"], &told["failed"]),
        (&json!(1), &json!(5)),
        "{told}"
    );
    let (ns, undone) = samples(&mut agent);
    assert_eq!(ns.len(), 6);
    let how: Vec<_> = undone.iter().map(|(at, how)| (*at, how.as_str())).collect();
    let expected = [
        (0, "garbage"),
        (1, "broken"),
        (2, "ended"),
        (3, "timeout"),
        (4, "garbage"),
    ];
    assert_eq!(how, expected);
    assert!(ns[3] >= 500_000_000);
}

/// Says so to the master.
fn say(said: &[u8]) {
    let mut stream = TcpStream::connect((HERE, PORT)).unwrap();
    stream.write_all(said).unwrap();
}

#[test]
#[ignore = "needs root"]
fn forwarders_refuse_what_is_no_message_and_pass_the_ring_s_on() {
    let (network, mut agent) = alone();
    agent.call("relay.open", ring("tcp", "fresh", 2, 64));
    network.within(|| {
        for said in [&[0xee; 64][..], b"half", b""] {
            let mut stream = TcpStream::connect((HERE, PORT + 1)).unwrap();
            stream.write_all(said).unwrap();
        }
    });
    agent.call("relay.go", go(100));
    let told = agent.call("relay.collect", json!({}));
    assert_eq!(
        (&told["completed"], &told["refused"]),
        (&json!(100), &json!(3)),
        "{told}"
    );
}

#[test]
#[ignore = "needs root"]
fn nobody_is_asked_for_ever_once_nothing_goes_round() {
    let (_network, mut agent) = alone();
    let load = way("tcp", "fresh", PORT, PORT + 1);
    agent.call("relay.open", json!({"relays": [relay("master", 4, load)]}));
    assert_eq!(agent.call("relay.go", go(1000))["given_up"], true);
    let told = agent.call("relay.collect", json!({}));
    assert_eq!(
        (&told["failed"], &told["last_problem"]),
        (&json!(10), &json!("Connection refused"))
    );
    assert_eq!(samples(&mut agent).1[0], (0, "refused".to_owned()));
}

#[test]
#[ignore = "needs root"]
fn a_port_in_use_is_named() {
    let (network, mut agent) = alone();
    let _held = network.within(|| TcpListener::bind((HERE, PORT + 1)).unwrap());
    let (_, problem) = agent.refusal("relay.open", ring("tcp", "fresh", 3, 4));
    assert!(
        problem.starts_with("cannot use 127.0.0.1:5101 on lo"),
        "{problem}"
    );
    assert!(problem.ends_with("Address already in use"), "{problem}");
    assert!(processes(&agent).is_empty());
}

#[test]
#[ignore = "needs root"]
fn a_relay_that_dies_ends_the_run_and_is_told_of() {
    let (_network, mut agent) = alone();
    agent.call("relay.open", ring("tcp", "persistent", 3, 4));
    let id = agent.request(
        "relay.go",
        json!({"trial": 7, "iterations": 1_000_000, "interval_ms": 1}),
    );
    kill(Pid::from_raw(processes(&agent)[1]), Signal::SIGKILL).unwrap();
    let reply = agent.receive();
    assert_eq!(reply["id"], id);
    let problem = reply["error"]["message"].as_str().unwrap();
    assert!(
        problem.starts_with("a relay has ended (signal: 9"),
        "{problem}"
    );
    agent.call("relay.open", ring("tcp", "persistent", 3, 4));
    agent.call("relay.go", go(100));
    assert_eq!(agent.call("relay.collect", json!({}))["completed"], 100);
}

#[test]
#[ignore = "needs root"]
fn an_aborted_run_ends_and_so_do_relays_whose_agent_is_gone() {
    let (_network, mut agent) = alone();
    agent.call("relay.open", ring("tcp", "fresh", 2, 4));
    let run = agent.request(
        "relay.go",
        json!({"trial": 7, "iterations": 1_000_000, "interval_ms": 10}),
    );
    let reply = agent.abort(run);
    let problem = reply["error"]["message"].as_str().unwrap();
    assert!(problem.starts_with("the run was aborted"), "{problem}");
    assert!(processes(&agent).is_empty());

    agent.call("relay.open", ring("tcp", "fresh", 2, 4));
    let relays = processes(&agent);
    kill(Pid::from_raw(agent.pid() as i32), Signal::SIGKILL).unwrap();
    drop(agent);
    for relay in relays {
        let is_gone = || {
            fs::read_to_string(format!("/proc/{relay}/stat")).map_or(true, |it| it.contains(") Z "))
        };
        while !is_gone() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_relay_whose_master_is_elsewhere_is_watched() {
    let (_network, mut agent) = alone();
    let load = way("tcp", "fresh", PORT, PORT + 1);
    agent.call(
        "relay.open",
        json!({"relays": [relay("forwarder", 4, load)]}),
    );
    let watch = agent.request("relay.watch", json!({}));
    agent.abort(watch);
    assert_eq!(agent.call("relay.collect", json!({}))["ended"], json!([]));

    let watch = agent.request("relay.watch", json!({}));
    kill(Pid::from_raw(processes(&agent)[0]), Signal::SIGKILL).unwrap();
    assert_eq!(agent.receive()["id"], watch);
    let told = agent.call("relay.collect", json!({}));
    let how = told["ended"][0].as_str().unwrap();
    assert!(how.starts_with("a relay has ended (signal: 9"), "{told}");
}
