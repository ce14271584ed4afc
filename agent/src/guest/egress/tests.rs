//! Both disciplines, as they are laid out, refused, and shown by tc.

use serde_json::{Value, json};

use super::netem::{TCA_NETEM_JITTER64, TCA_NETEM_LATENCY64, TCA_NETEM_REORDER, probability};
use super::*;
use crate::traffic::testing::{SOURCE, in_namespace, ip, tc};

fn qdisc(value: Value) -> Result<Qdisc, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn netem() -> Value {
    json!({
        "kind": "netem", "limit_packets": 1000, "delay_ns": 3_000_000, "jitter_ns": 0,
        "loss_ratio": 0.01, "duplicate_ratio": 0.0, "reorder_ratio": 0.1,
    })
}

fn tbf() -> Value {
    json!({
        "kind": "tbf", "rate_bps": 50_000_000, "burst_bytes": 8192, "limit_bytes": 65536,
        "overhead_bytes": 24,
    })
}

fn with(mut value: Value, key: &str, changed: Value) -> Value {
    value[key] = changed;
    value
}

fn options(qdisc: &Qdisc) -> Vec<u8> {
    match qdisc.attributes().pop() {
        Some(TcAttribute::Other(options)) => {
            let mut bytes = vec![0; rtnetlink::packet_core::Nla::value_len(&options)];
            rtnetlink::packet_core::Nla::emit_value(&options, &mut bytes);
            bytes
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn netem_is_laid_out_as_the_kernel_reads_it() {
    let options = options(&qdisc(netem()).unwrap());
    let word = |at: usize| u32::from_ne_bytes(options[4 * at..4 * at + 4].try_into().unwrap());
    let fixed: Vec<_> = (0..6).map(word).collect();
    assert_eq!(fixed, [0, 1000, 42_949_673, 1, 0, 0]);
    assert_eq!(word(6), 12 | u32::from(TCA_NETEM_LATENCY64) << 16);
    assert_eq!((word(7), word(8)), (3_000_000, 0));
    assert_eq!(word(9), 12 | u32::from(TCA_NETEM_JITTER64) << 16);
    assert_eq!(word(12), 12 | u32::from(TCA_NETEM_REORDER) << 16);
    assert_eq!((word(13), word(14)), (429_496_730, 0));
    assert_eq!(options.len(), 60);
}

#[test]
fn certainty_is_every_bit() {
    assert_eq!((probability(0.0), probability(1.0)), (0, u32::MAX));
}

#[test]
fn what_cannot_be_is_refused() {
    for (value, field) in [
        (with(netem(), "loss_ratio", json!(1.01)), "qdisc.loss_ratio"),
        (with(netem(), "delay_ns", json!(0)), "qdisc.reorder_ratio"),
        (
            with(netem(), "delay_ns", json!(2_000_000_000u64)),
            "qdisc.delay_ns",
        ),
        (
            with(netem(), "jitter_ns", json!(3_000_001)),
            "qdisc.jitter_ns",
        ),
        (
            with(netem(), "limit_packets", json!(0)),
            "qdisc.limit_packets",
        ),
        (
            with(netem(), "limit_packets", json!(1_000_001)),
            "qdisc.limit_packets",
        ),
        (with(tbf(), "rate_bps", json!(0)), "qdisc.rate_bps"),
        (
            with(tbf(), "rate_bps", json!(1_000_000_000_001u64)),
            "qdisc.rate_bps",
        ),
        (
            with(tbf(), "overhead_bytes", json!(1001)),
            "qdisc.overhead_bytes",
        ),
        (with(tbf(), "burst_bytes", json!(1513)), "qdisc.burst_bytes"),
        (
            with(tbf(), "burst_bytes", json!((1 << 30) + 1)),
            "qdisc.burst_bytes",
        ),
        (with(tbf(), "limit_bytes", json!(0)), "qdisc.limit_bytes"),
        (
            with(tbf(), "limit_bytes", json!((1 << 30) + 1)),
            "qdisc.limit_bytes",
        ),
    ] {
        let refused = qdisc(value).unwrap().check().unwrap_err();
        assert!(
            matches!(&refused, Error::Params { field: at, .. } if at == field),
            "{refused}"
        );
    }
    assert!(
        qdisc(with(tbf(), "delay_ns", json!(1)))
            .unwrap_err()
            .contains("unknown field")
    );
    assert!(
        qdisc(json!({"kind": "pfifo"}))
            .unwrap_err()
            .contains("unknown variant")
    );
}

fn set_on_source(qdisc: Value) -> Result<(), Error> {
    let shown: Value = serde_json::from_str(&ip(&["-j", "link", "show", SOURCE])).unwrap();
    let params = json!({"macs": [shown[0]["address"]], "qdisc": qdisc});
    set(&serde_json::from_value(params).unwrap())
}

#[test]
#[ignore = "needs root"]
fn tc_shows_the_bucket_that_was_set() {
    in_namespace(|| {
        set_on_source(tbf()).unwrap();
        // The limit as tc tells it: what it holds beyond the burst, in time.
        let shown = tc(&["-s", "qdisc", "show", "dev", SOURCE, "root"]);
        for expected in ["tbf", "rate 50Mbit", "lat 9.17ms", "overhead 24"] {
            assert!(shown.contains(expected), "{shown}");
        }
        let burst = tc(&["-j", "qdisc", "show", "dev", SOURCE, "root"]);
        let burst: Value = serde_json::from_str(&burst).unwrap();
        let burst = burst[0]["options"]["burst"].as_u64().unwrap();
        assert!((8100..=8300).contains(&burst), "{shown}");
        set_on_source(with(tbf(), "rate_bps", json!(80_000_000_000u64))).unwrap();
        let shown = tc(&["qdisc", "show", "dev", SOURCE, "root"]);
        assert!(shown.contains("rate 80Gbit"), "{shown}");
    });
}

#[test]
#[ignore = "needs root"]
fn a_kernel_without_the_discipline_is_told_in_words() {
    in_namespace(|| match set_on_source(netem()) {
        Ok(()) => {
            let shown = tc(&["qdisc", "show", "dev", SOURCE, "root"]);
            for expected in ["netem", "limit 1000", "delay 3ms", "loss 1%", "reorder 10%"] {
                assert!(shown.contains(expected), "{shown}");
            }
        }
        Err(refused) => assert!(
            refused.to_string().starts_with(
                "this kernel has no queueing discipline netem; load its module sch_netem"
            ),
            "{refused}"
        ),
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_not_there_is_named() {
    in_namespace(|| {
        let params = json!({"macs": ["02:00:00:00:00:77"], "qdisc": tbf()});
        let refused = set(&serde_json::from_value(params).unwrap()).unwrap_err();
        assert!(
            refused.to_string().starts_with("macs[0]: no interface"),
            "{refused}"
        );
    });
}
