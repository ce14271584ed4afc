//! # Whatever is written to the agent, it answers, and keeps nothing of it
//!
//! The agent works on a veth pair in a namespace of its own: what valid calls send, count and configure stays there.
//! `VTAX_FUZZ_INPUTS` is the number of lines, `VTAX_FUZZ_SEED` repeats a run that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest::{bool, prelude::*};
use serde_json::{Value, json};
use vtax_agent::control::LINE_LIMIT_BYTES;

use crate::contract::methods;
use crate::ends::{FAR, NEAR};
use crate::lines::lines;
use crate::network::Namespace;
use crate::process::{Agent, PROGRAM};

pub const SOURCE_MAC: &str = "02:76:74:00:00:01";
pub const SINK_MAC: &str = "02:76:74:00:00:02";

const INPUTS: usize = 20_000;
const MOST_TIMES_INPUTS: usize = 10;
const BATCH: usize = 100;
/// How long the calls of a batch may end by themselves before they are aborted.
const LEISURE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(30);
/// What the allocator may keep more than after a tenth of the inputs: 10 bytes an input of a million.
const SLACK_KIB: u64 = 8192;
/// A member of the result of each call that does something, by which to tell that some were carried out.
const CARRIED_OUT: [&str; 16] = [
    "aborted",
    "answered",
    "attach",
    "broken",
    "buffer_drops",
    "cost",
    "drain_ms",
    "duplicated",
    "given_up",
    "interfaces",
    "kept",
    "nics",
    "p50_ns",
    "step_ms",
    "strays",
    "unattributed",
];
/// glibc's malloc raises these when a large buffer is freed, and keeps as much of what is freed later: with fixed ones
/// what the agent still has is what it holds.
const FREED_AT_ONCE: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
];
const CODES: [i64; 5] = [-32_700, -32_600, -32_601, -32_602, -32_000];

#[test]
#[ignore = "needs root"]
fn every_line_gets_one_reply_and_leaves_nothing_behind() {
    let inputs = number("VTAX_FUZZ_INPUTS").unwrap_or(INPUTS as u64) as usize;
    let mut fuzz = Fuzz::start(number("VTAX_FUZZ_SEED").unwrap_or_else(now_ns));
    let batch = (
        prop::collection::vec(lines(), BATCH),
        bool::weighted(0.2).prop_map(|patient| if patient { LEISURE } else { Duration::ZERO }),
    );
    let mut early = None;
    // Chance leaves one call or other of the first inputs out; there are more of them until none is.
    for at in (0..inputs * MOST_TIMES_INPUTS).step_by(BATCH) {
        if at >= inputs && fuzz.unseen.is_empty() && fuzz.unasked.is_empty() {
            break;
        }
        if early.is_none() && at >= inputs / 10 {
            early = Some(fuzz.at_rest());
        }
        let (lines, leisure) = batch.new_tree(&mut fuzz.runner).unwrap().current();
        fuzz.answer(lines, leisure);
    }
    assert!(
        fuzz.unseen.is_empty(),
        "never carried out: {:?}",
        fuzz.unseen
    );
    assert!(fuzz.unasked.is_empty(), "never asked: {:?}", fuzz.unasked);
    let (early, late) = (early.unwrap(), fuzz.at_rest());
    assert_eq!(early.descriptors, late.descriptors);
    assert!(
        late.rss_kib <= early.rss_kib + SLACK_KIB,
        "{} KiB after a tenth of the inputs, {} KiB at the end",
        early.rss_kib,
        late.rss_kib
    );
    fuzz.agent.hang_up();
    assert_eq!(fuzz.agent.exit_status(), 0);
}

struct Fuzz {
    agent: Agent,
    _network: Namespace,
    runner: TestRunner,
    seed: u64,
    /// Those of [`CARRIED_OUT`] that no result has had yet.
    unseen: Vec<&'static str>,
    /// The methods of the contract that were not called yet; the end of the agent is not asked for.
    unasked: BTreeSet<String>,
    /// What the agent was last asked, to be shown when that was too much for it.
    batch: Vec<Vec<u8>>,
}

/// What the agent holds while nothing is open and no call is under way.
struct Footprint {
    rss_kib: u64,
    descriptors: usize,
}

impl Fuzz {
    fn start(seed: u64) -> Self {
        let network = Namespace::make();
        network.join("src0", SOURCE_MAC, &network, "snk0", SINK_MAC);
        network.ip(&format!("addr add {NEAR}/24 dev src0"));
        network.ip(&format!("addr add {FAR}/24 dev snk0"));
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self {
            agent: Agent::of(
                Command::new(PROGRAM)
                    .args(["--netns", &network.path()])
                    .envs(FREED_AT_ONCE),
            ),
            _network: network,
            runner: TestRunner::new_with_rng(Config::default(), rng),
            seed,
            unseen: CARRIED_OUT.to_vec(),
            unasked: methods()
                .keys()
                .filter(|name| *name != "shutdown")
                .cloned()
                .collect(),
            batch: Vec::new(),
        }
    }

    /// Writes `lines` and an abort for what is still under way after `leisure`, and takes their replies.
    fn answer(&mut self, lines: Vec<Vec<u8>>, leisure: Duration) {
        let lines = lines
            .iter()
            .flat_map(|line| line.split(|&byte| byte == b'\n'));
        self.batch = lines
            .filter(|line| !asks_to_end(line))
            .map(<[u8]>::to_vec)
            .collect();
        let mut due = BTreeMap::new();
        for line in &self.batch {
            if let Some(method) = request_of(line)["method"].as_str() {
                self.unasked.remove(method);
            }
            *due.entry(id_of(line).to_string()).or_insert(0) += 1;
        }
        self.agent
            .write(&[self.batch.join(&b'\n'), b"\n".to_vec()].concat());
        self.take(&mut due, leisure);
        let abort = self.agent.request("abort", json!({}));
        *due.entry(abort.to_string()).or_insert(0) += 1;
        self.take(&mut due, PATIENCE);
        assert!(
            due.is_empty(),
            "no reply to these ids within {PATIENCE:?}: {due:?}"
        );
    }

    /// Takes replies until none is due, for at most `patience`.
    fn take(&mut self, due: &mut BTreeMap<String, usize>, patience: Duration) {
        let deadline = Instant::now() + patience;
        while !due.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(reply) = self.agent.receive_within(left) else {
                return;
            };
            check(&reply);
            self.unseen
                .retain(|member| reply["result"].get(*member).is_none());
            let id = reply["id"].to_string();
            let count = due
                .get_mut(&id)
                .unwrap_or_else(|| panic!("nobody asked for {reply}"));
            *count -= 1;
            if *count == 0 {
                due.remove(&id);
            }
        }
    }

    fn at_rest(&mut self) -> Footprint {
        let closes = methods().keys().filter(|name| name.ends_with(".close"));
        let ends = ["ingress.release", "residence.read"];
        for method in closes.map(String::as_str).chain(ends) {
            self.agent.reply(method, json!({}));
        }
        let process = format!("/proc/{}", self.agent.pid());
        let count = |of: &str| fs::read_dir(format!("{process}/{of}")).unwrap().count();
        // The thread of a call ends soon after its reply.
        let deadline = Instant::now() + PATIENCE;
        while count("task") > 1 {
            assert!(Instant::now() < deadline, "threads of no call run on");
            thread::sleep(Duration::from_millis(1));
        }
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let rss_kib = rss.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
        Footprint {
            rss_kib,
            descriptors: count("fd"),
        }
    }
}

impl Drop for Fuzz {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "VTAX_FUZZ_SEED={} repeats this; the last lines were:",
                self.seed
            );
            for line in &self.batch {
                let shown = &line[..line.len().min(300)];
                eprintln!("  {} bytes: {}", line.len(), shown.escape_ascii());
            }
        }
    }
}

/// The id that the reply to `line` carries: null where it cannot be told, or is none that is taken.
fn id_of(line: &[u8]) -> Value {
    if line.len() >= LINE_LIMIT_BYTES {
        return Value::Null;
    }
    match request_of(line)["id"].take() {
        Value::String(text) if text.len() > 128 => Value::Null,
        Value::Number(number) if number.is_f64() => Value::Null,
        id @ (Value::String(_) | Value::Number(_)) => id,
        _ => Value::Null,
    }
}

fn asks_to_end(line: &[u8]) -> bool {
    request_of(line)["method"] == "shutdown"
}

fn request_of(line: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    if value.is_object() { value } else { json!({}) }
}

fn check(reply: &Value) {
    assert_eq!(reply["jsonrpc"], "2.0", "{reply}");
    let code = reply["error"]["code"].as_i64();
    assert!(reply["result"].is_object() != code.is_some(), "{reply}");
    if let Some(code) = code {
        assert!(CODES.contains(&code), "{reply}");
        assert!(
            !reply["error"]["message"].as_str().unwrap().is_empty(),
            "{reply}"
        );
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a whole number")),
    )
}

fn now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}
