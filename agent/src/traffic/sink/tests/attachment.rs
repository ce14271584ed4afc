//! Attaching, being taken away, and leaving nothing behind.

use std::process::Command;
use std::thread;

use libbpf_rs::ProgramType;
use serde_json::json;

use super::bench::NO_CAPTURE;
use super::network::*;
use super::*;
use crate::traffic::interface::Interface;
use crate::traffic::sink::Sink;
use crate::traffic::sink::attach::Attached;
use crate::traffic::sink::program::OpenSinkSkel;
use crate::traffic::sink::wire::{AttachMode, AttachRequest};
use crate::traffic::testing::{SINK, SOURCE, Sender, in_namespace, ip, tc, wait_until};

#[test]
#[ignore = "needs root"]
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
        let fallback = opened["streams"][0]["fallback"].as_str().unwrap();
        assert!(
            fallback.starts_with("native XDP: cannot attach to snk0"),
            "{fallback}"
        );
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

/// Loads each program as if it were of the other's kind, whose context has its fields elsewhere: the verifier must refuse that.
fn spoil(program: &mut OpenSinkSkel<'_>) {
    program.progs.sink_xdp.set_prog_type(ProgramType::SchedCls);
    program.progs.sink_tc.set_prog_type(ProgramType::Xdp);
}

#[test]
#[ignore = "needs root"]
fn a_refused_program_is_told_with_the_verifier_s_last_lines() {
    const VERIFIER: &str = "\nprocessed ";
    in_namespace(|| {
        let interface = Interface::find("interface", SINK).unwrap();
        let refusing = |refused: &[AttachMode]| {
            Attached::adjusted(
                &interface,
                AttachRequest::Auto,
                NO_CAPTURE,
                |mode, program| {
                    if refused.contains(&mode) {
                        spoil(program);
                    }
                },
            )
        };
        let generic = refusing(&[AttachMode::XdpNative]).unwrap();
        let reason = generic.fallback.as_deref().unwrap();
        assert_eq!(generic.mode, AttachMode::XdpGeneric);
        assert!(reason.starts_with("native XDP: the kernel refuses the sink's BPF program"));
        assert!(
            reason.contains("invalid mem access") && reason.contains(VERIFIER),
            "{reason}"
        );
        assert!(reason.lines().count() < 20, "{reason}");
        generic.detach().unwrap();

        let tc = refusing(&[AttachMode::XdpNative, AttachMode::XdpGeneric]).unwrap();
        assert_eq!(tc.mode, AttachMode::Tc);
        assert!(tc.fallback.as_deref().unwrap().contains("generic XDP: "));
        tc.detach().unwrap();

        let all = [
            AttachMode::XdpNative,
            AttachMode::XdpGeneric,
            AttachMode::Tc,
        ];
        let error = refusing(&all).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("no sink on {SINK}. ")),
            "{error}"
        );
        assert_eq!(error.matches(VERIFIER).count(), 3, "{error}");
        assert_nothing_attached();
    });
}

#[test]
#[ignore = "needs root"]
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
#[ignore = "needs root"]
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
                    "--include-ignored",
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
#[ignore = "needs root"]
fn a_foreign_clsact_stays() {
    in_namespace(|| {
        tc(&["qdisc", "add", "dev", SINK, "clsact"]);
        open("tc").unwrap().0.close().unwrap();
        assert!(tc(&["qdisc", "show", "dev", SINK]).contains("clsact"));
        assert_eq!(tc(&["filter", "show", "dev", SINK, "ingress"]), "");
    });
}

#[test]
#[ignore = "needs root"]
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
#[ignore = "needs root"]
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
#[ignore = "needs root"]
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
