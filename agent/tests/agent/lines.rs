//! # Lines for an agent: valid requests, requests with a fault anywhere, other JSON, and no JSON at all
//!
//! Valid runs last some milliseconds; a longer one, made by a fault, lasts until it is aborted.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use vtax_agent::control::LINE_LIMIT_BYTES;

use crate::contract;
use crate::ends::{FAR, NEAR};
use crate::faults::{fault, json};
use crate::fuzz::{SINK_MAC, SOURCE_MAC};
use crate::streams;

pub fn lines() -> BoxedStrategy<Vec<u8>> {
    let text = |value: Value| value.to_string().into_bytes();
    let cut = (request(), any::<Index>()).prop_map(move |(request, at)| {
        let mut line = text(request);
        line.truncate(at.index(line.len()));
        line
    });
    let spliced = (request(), any::<Index>(), vec(any::<u8>(), 1..8)).prop_map(
        move |(request, at, bytes)| {
            let mut line = text(request);
            let at = at.index(line.len());
            line.splice(at..at, bytes);
            line
        },
    );
    let deep = (select(vec!["[", "{\"a\":", "[{\"\":"]), 1_usize..2000)
        .prop_map(|(open, depth)| open.repeat(depth).into_bytes());
    let long = (LINE_LIMIT_BYTES - 100..3 * LINE_LIMIT_BYTES).prop_map(|length| {
        let pad = "x".repeat(length);
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"{pad}":0}}}}"#).into_bytes()
    });
    prop_oneof![
        60 => request().prop_map(text),
        90 => (request(), vec(fault(), 1..4)).prop_map(move |(mut request, faults)| {
            for fault in faults {
                fault.commit(&mut request);
            }
            text(request)
        }),
        15 => json().prop_map(text),
        15 => vec(any::<u8>(), 0..200),
        8 => cut,
        8 => spliced,
        3 => deep,
        1 => long,
    ]
    .boxed()
}

/// A valid request; whether it can be carried out depends on those before it.
fn request() -> BoxedStrategy<Value> {
    let number = prop_oneof![
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from)
    ];
    let id = prop_oneof![number, ".{0,20}".prop_map(Value::from)];
    (id, call())
        .prop_map(|(id, (method, params))| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        .boxed()
}

/// Opens and closes are rare: each waits for the kernel some ten milliseconds.
fn call() -> BoxedStrategy<(&'static str, Value)> {
    let bare = |method| Just((method, json!({})));
    let with = |method: &'static str, params: BoxedStrategy<Value>| {
        params.prop_map(move |params| (method, params))
    };
    let dropped = vec(interface(), 1..3).prop_map(|names| json!({"interfaces": names}));
    prop_oneof![
        80 => bare("ping"),
        30 => bare("abort"),
        50 => with("source.run", run()),
        25 => with("sink.arm", arm()),
        25 => with("sink.collect", collect()),
        5 => with("sink.histograms", (0_u8..4).prop_map(|stream| json!({"stream": stream})).boxed()),
        5 => with("sink.capture", capture()),
        10 => with("guest.configure", guest()),
        3 => with("source.open", source()),
        1 => with("sink.open", sink()),
        3 => with("ingress.drop", dropped.boxed()),
        20 => with("requester.go", go()),
        10 => bare("requester.collect"),
        3 => with("requester.open", requester()),
        3 => with("responder.open", responder()),
        1 => bare("requester.close"),
        2 => with("relay.open", relays()),
        10 => with("relay.go", relay_go()),
        5 => bare("relay.collect"),
        5 => with("relay.samples", (0..40).prop_map(|first| json!({"first": first})).boxed()),
        1 => bare("relay.close"),
        80 => streams::lines::call(),
        20 => contract::call(),
        1 => bare("responder.close"),
        1 => bare("source.close"),
        1 => bare("sink.close"),
        1 => bare("ingress.release"),
        4 => bare("residence.open"),
        4 => bare("residence.read"),
        3 => with("stages.open", stages()),
        2 => with("stages.arm", window()),
        8 => with("stages.collect", (0..2, 0..3).prop_map(|(trail, first)| json!({"trail": trail, "first": first})).boxed()),
        4 => with("stages.packets", (0..3).prop_map(|first| json!({"first": first})).boxed()),
        1 => bare("stages.close"),
    ]
    .boxed()
}

fn source() -> BoxedStrategy<Value> {
    let stream = (0_u8..4, interface()).prop_map(|(stream, interface)| {
        json!({
            "stream": stream, "interface": interface, "source_mac": SOURCE_MAC, "destination_mac": SINK_MAC,
            "source_ip": "198.18.0.2", "destination_ip": "198.18.1.2", "source_port": 4096, "destination_port": 4097,
        })
    });
    let mechanisms = vec(select(vec!["raw", "gso", "af_xdp", "pktgen"]), 0..4);
    let cpus = vec(0..2, 1..3);
    (cpus, 1_u8..4, mechanisms, vec(stream, 1..4))
        .prop_map(|(cpus, strands, mechanisms, streams)| {
            json!({"cpus": cpus, "strands": strands, "mechanisms": mechanisms, "streams": streams})
        })
        .boxed()
}

fn lengths() -> BoxedStrategy<Value> {
    let mix = vec(select(vec![64, 65, 300]), 1..20);
    prop_oneof![(64..300).prop_map(Value::from), mix.prop_map(Value::from)].boxed()
}

fn run() -> BoxedStrategy<Value> {
    let phase = (select(vec!["probe", "warmup", "measure"]), 0.0001..0.003)
        .prop_map(|(phase, duration_s)| json!({"phase": phase, "duration_s": duration_s}));
    let mechanism = select(vec!["raw", "gso", "af_xdp", "pktgen"]);
    let flows = select(vec![1, 2, 6]);
    (0..3, lengths(), flows, mechanism, option::of(1.0..100_000.0), 1.0..1000.0, vec(phase, 1..4))
        .prop_map(|(trial, frame_bytes, flows, mechanism, intended_fps, probe_fps, phases)| {
            json!({
                "trial": trial, "frame_bytes": frame_bytes, "flows": flows, "mechanism": mechanism,
                "intended_fps": intended_fps, "probe_fps": probe_fps, "phases": phases,
            })
        })
        .boxed()
}

fn sink() -> BoxedStrategy<Value> {
    let stream = (0_u8..4, interface())
        .prop_map(|(stream, interface)| json!({"stream": stream, "interface": interface}));
    (
        vec(stream, 1..3),
        select(vec!["auto", "native", "generic", "tc"]),
        0..100,
    )
        .prop_map(|(streams, attach, capture_frames)| {
            json!({"streams": streams, "attach": attach, "capture_frames": capture_frames, "snap_bytes": 200})
        })
        .boxed()
}

fn capture() -> BoxedStrategy<Value> {
    (0_u8..4, 0..200)
        .prop_map(|(stream, first)| json!({"stream": stream, "first": first}))
        .boxed()
}

fn arm() -> BoxedStrategy<Value> {
    let clock = (0_u8..4, any::<i64>())
        .prop_map(|(stream, ahead_ns)| json!({"stream": stream, "ahead_ns": ahead_ns}));
    let strands = select(vec![1, 1, 2, 8, 3]);
    (
        0..3,
        select(vec!["probe", "measure"]),
        lengths(),
        strands,
        1..200,
        vec(clock, 0..3),
    )
        .prop_map(
            |(trial, phase, frame_bytes, strands, probe_interval, clocks)| {
                json!({
                    "trial": trial, "phase": phase, "frame_bytes": frame_bytes, "strands": strands,
                    "probe_interval": probe_interval, "clocks": clocks,
                })
            },
        )
        .boxed()
}

fn collect() -> BoxedStrategy<Value> {
    let strand_frames = vec(0..100, 1..3);
    let stream = (0_u8..4, strand_frames)
        .prop_map(|(stream, frames)| json!({"stream": stream, "strand_frames": frames}));
    (vec(stream, 1..3), 1..5, 1..10)
        .prop_map(|(expected, quiet_ms, limit_ms)| {
            json!({"expected": expected, "quiet_ms": quiet_ms, "limit_ms": limit_ms})
        })
        .boxed()
}

fn responder() -> BoxedStrategy<Value> {
    let response_bytes = select(vec![json!(1), json!("equal"), json!(2000)]);
    (protocol(), 0..2, interface(), response_bytes, option::weighted(0.05, 0..25))
        .prop_map(|(protocol, cpu, interface, response_bytes, short_message_bytes)| {
            json!({
                "cpu": cpu, "protocol": protocol, "interface": interface, "address": FAR, "port": 5000,
                "response_bytes": response_bytes, "short_message_bytes": short_message_bytes,
            })
        })
        .boxed()
}

fn requester() -> BoxedStrategy<Value> {
    (protocol(), 0..2, 0..3000, option::of(1.0..100_000.0), 1..10, 0..1000)
        .prop_map(|(protocol, cpu, message_bytes, rps, timeout_ms, busy_poll_us)| {
            json!({
                "cpu": cpu, "protocol": protocol, "interface": "src0", "local_address": NEAR, "remote_address": FAR,
                "port": 5000, "message_bytes": message_bytes, "response_bytes": 1, "rps": rps,
                "timeout_ms": timeout_ms, "options": {"busy_poll_us": busy_poll_us},
            })
        })
        .boxed()
}

fn relays() -> BoxedStrategy<Value> {
    let load = select(vec![
        json!("nothing"),
        json!({"output": "line"}),
        json!({"output": "full"}),
    ]);
    let way = (protocol(), select(vec!["fresh", "persistent"]), interface()).prop_map(
        |(protocol, connection, interface)| {
            json!({"network": {
                "protocol": protocol, "connection": connection, "interface": interface, "address": NEAR,
                "port": 5009, "next_address": FAR, "next_port": 5010, "timeout_ms": 1,
            }})
        },
    );
    (select(vec!["master", "forwarder"]), 0..20, prop_oneof![load, way])
        .prop_map(|(mode, message_bytes, load)| {
            json!({"relays": [{"mode": mode, "cpu": 0, "message_bytes": message_bytes, "load": load}]})
        })
        .boxed()
}

fn relay_go() -> BoxedStrategy<Value> {
    (0..3, 0..30, option::of(0.001..0.1))
        .prop_map(|(trial, iterations, interval_ms)| {
            json!({"trial": trial, "iterations": iterations, "interval_ms": interval_ms})
        })
        .boxed()
}

fn go() -> BoxedStrategy<Value> {
    (0..3, option::of(0.0001..0.003), 0.0001..0.003, option::of(1..10))
        .prop_map(|(trial, warmup_s, duration_s, transactions)| {
            json!({
                "trial": trial, "warmup_s": warmup_s, "duration_s": duration_s, "transactions": transactions,
            })
        })
        .boxed()
}

fn protocol() -> BoxedStrategy<&'static str> {
    select(vec!["tcp", "udp"]).boxed()
}

fn guest() -> BoxedStrategy<Value> {
    let modules = select(vec![json!([]), json!(["e1000"]), json!(["../../lib"])]);
    let gateway = select(vec!["198.18.0.2", "198.20.0.2", "2001:2::2"]);
    let route = gateway.prop_map(|gateway| json!({"network": "198.19.0.0/24", "gateway": gateway}));
    let routes = vec(route, 0..3);
    (modules, select(vec![SOURCE_MAC, SINK_MAC]), 300..9000, any::<bool>(), routes)
        .prop_map(|(modules, mac, mtu, forward, routes)| {
            let neighbours = json!([{"address": "198.18.0.2", "mac": SINK_MAC}]);
            let nic = json!({
                "mac": mac, "address": "198.18.0.1/24", "mtu": mtu, "neighbours": neighbours, "routes": routes,
            });
            json!({"modules": modules, "nics": [nic], "forward": forward})
        })
        .boxed()
}

fn stages() -> BoxedStrategy<Value> {
    let hooks = vec![
        "due", "write", "arrive", "receive", "queue", "transmit", "copy", "free", "drop",
    ];
    let point = (select(hooks), interface())
        .prop_map(|(hook, interface)| json!({"hook": hook, "interface": interface}));
    let points = vec(point, 2..4);
    let trail = (select(vec!["a", "b", "c"]), points).prop_map(|(name, points)| {
        let stages = &["x", "y"][..points.len() - 1];
        json!({"name": name, "points": points, "stages": stages})
    });
    (vec(trail, 1..3), 1..5, select(vec!["stamp", "headers"]), 0..50)
        .prop_map(|(trails, sample_every, follow, packets)| {
            json!({"trails": trails, "sample_every": sample_every, "follow": follow, "packets": packets})
        })
        .boxed()
}

fn window() -> BoxedStrategy<Value> {
    (0.0..0.01, 0.001..1.0)
        .prop_map(|(delay_s, duration_s)| json!({"delay_s": delay_s, "duration_s": duration_s}))
        .boxed()
}

fn interface() -> BoxedStrategy<&'static str> {
    prop_oneof![6 => Just("src0"), 6 => Just("snk0"), 1 => Just("lo"), 1 => Just("absent0")].boxed()
}
