//! Attaching, being taken away, and leaving nothing behind.

use std::process::Command;
use std::thread;

use serde_json::json;

use super::network::*;
use super::*;
use crate::traffic::sink::Sink;
use crate::traffic::testing::{SINK, SOURCE, Sender, in_namespace, ip, tc, wait_until};

#[test]
fn auto_takes_generic_xdp_where_frames_are_too_long_for_native() {
    in_namespace(|| {
        for interface in [SOURCE, SINK] {
            ip(&["link", "set", interface, "mtu", "9000"]);
        }
        let refusal = open("native").unwrap_err().to_string();
        assert!(
            refusal.contains("native XDP") && refusal.contains(SINK),
            "{refusal}"
        );

        let (mut sink, opened) = open("auto").unwrap();
        assert_eq!(opened["streams"][0]["attached"], "xdp-generic");
        arm(&mut sink, 9014);
        let sender = Sender::new();
        (0..5).for_each(|sequence| sender.send(&frame(sequence).to_bytes(9014)));
        let (reply, stream) = collect(&sink, 5);
        assert_eq!(
            (&reply["ended"], &stream["received"]),
            (&json!("complete"), &json!(5))
        );
    });
}

#[test]
fn a_dropped_sink_leaves_nothing_attached() {
    for attach in ["native", "generic", "tc"] {
        in_namespace(|| {
            drop(open(attach).unwrap());
            assert_nothing_attached();
        });
    }
}

/// The test runs itself once more as the process to be killed.
#[test]
fn a_killed_agent_leaves_no_xdp_attached() {
    const HOLDS: &str = "VTAX_TEST_HOLDS_A_SINK";
    if let Ok(attach) = std::env::var(HOLDS) {
        let _sink = open(&attach).unwrap();
        loop {
            thread::park();
        }
    }
    let runs_xdp = || ip(&["link", "show", SINK]).contains("xdp");
    for attach in ["native", "generic"] {
        in_namespace(|| {
            let mut holder = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "traffic::sink::tests::attachment::a_killed_agent_leaves_no_xdp_attached",
                ])
                .env(HOLDS, attach)
                .spawn()
                .unwrap();
            wait_until(runs_xdp);
            holder.kill().unwrap();
            holder.wait().unwrap();
            wait_until(|| !runs_xdp());
        });
    }
}

#[test]
fn a_foreign_clsact_stays() {
    in_namespace(|| {
        tc(&["qdisc", "add", "dev", SINK, "clsact"]);
        open("tc").unwrap().0.close().unwrap();
        assert!(tc(&["qdisc", "show", "dev", SINK]).contains("clsact"));
        assert_eq!(tc(&["filter", "show", "dev", SINK, "ingress"]), "");
    });
}

#[test]
fn a_sink_whose_program_was_taken_away_says_so() {
    for attach in ["native", "generic", "tc"] {
        in_namespace(|| {
            let (mut sink, _) = open(attach).unwrap();
            arm(&mut sink, FRAME_BYTES);
            assert_eq!(collect(&sink, 0).1["attached"], true);
            if attach == "tc" {
                tc(&["qdisc", "del", "dev", SINK, "clsact"]);
            } else {
                ip(&["link", "del", SINK]);
            }
            assert_eq!(collect(&sink, 0).1["attached"], false, "{attach}");
            sink.close().unwrap();
        });
    }
}

#[test]
fn an_interface_takes_one_sink() {
    in_namespace(|| {
        let (_sink, _) = open("native").unwrap();
        let refusal = open("native").unwrap_err().to_string();
        assert!(
            refusal.contains(SINK) && refusal.contains("busy"),
            "{refusal}"
        );
    });
}

#[test]
fn a_failed_open_detaches_what_it_attached() {
    in_namespace(|| {
        let streams =
            json!([{"stream": 0, "interface": SINK}, {"stream": 1, "interface": "absent0"}]);
        let error = Sink::open(&params(json!({"streams": streams, "attach": "auto"})))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("streams[1].interface: no interface `absent0`"),
            "{error}"
        );
        assert_nothing_attached();
    });
}
