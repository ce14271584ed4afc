//! # The queueing discipline that a guest sends through
//!
//! What `tc qdisc replace dev NIC root ...` does, without tc: a guest's image holds the agent alone. Layouts are those of
//! linux/pkt_sched.h.

use anyhow::Context;
use nix::errno::Errno;
use rtnetlink::Error as NetlinkError;
use rtnetlink::packet_core::DefaultNla;
use rtnetlink::packet_route::tc::TcAttribute;
use serde::Deserialize;

use super::links::{Link, Links};
use crate::Error;
use crate::mac::MacAddress;

const SECOND_NS: u64 = 1_000_000_000;
/// The largest frame of mtu 1500: a bucket lets nothing through that it cannot hold.
const LEAST_BURST_BYTES: u32 = 1514;

const TCA_OPTIONS: u16 = 2;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
/// Then the kernel counts bytes by itself and wants no table of rates.
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// `guest.set_egress_qdisc`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EgressParams {
    /// The NICs that frames leave by.
    macs: Vec<MacAddress>,
    qdisc: Qdisc,
}

/// A discipline in its own terms, see tc-netem(8) and tc-tbf(8).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Qdisc {
    Netem {
        limit_packets: u32,
        delay_ns: u64,
        jitter_ns: u64,
        loss_ratio: f64,
        duplicate_ratio: f64,
        /// The share of packets that are sent at once while the others are delayed.
        reorder_ratio: f64,
    },
    Tbf {
        rate_bps: u64,
        burst_bytes: u32,
        limit_bytes: u32,
        /// Counted with every frame.
        overhead_bytes: u16,
    },
}

/// Replaces the discipline of every NIC named. Doing it again begins with an empty queue.
pub(crate) fn set(params: &EgressParams) -> Result<(), Error> {
    params.qdisc.check()?;
    super::runtime()?.block_on(async {
        let links = Links::open()?;
        let present = links.all().await?;
        for (at, mac) in params.macs.iter().enumerate() {
            let link = present.iter().find(|link| link.mac == Some(*mac));
            let link = link.ok_or_else(|| {
                Error::params(
                    format!("macs[{at}]"),
                    format!("no interface has the address {mac}"),
                )
            })?;
            replace(&links, link, &params.qdisc).await?;
        }
        Ok(())
    })
}

async fn replace(links: &Links, link: &Link, qdisc: &Qdisc) -> Result<(), Error> {
    let kind = qdisc.kind();
    let replaced = links.replace_root_qdisc(link, qdisc.attributes()).await;
    Ok(replaced.with_context(|| {
        format!(
            "the kernel here refuses the queueing discipline {kind} on {}",
            link.name
        )
    }).map_err(|error| match error.downcast_ref::<NetlinkError>() {
        Some(NetlinkError::NetlinkError(message)) if message.raw_code() == -(Errno::ENOENT as i32) => error.context(format!(
            "this kernel has no queueing discipline {kind}; load its module sch_{kind}, or take a platform with a kernel of its own"
        )),
        _ => error,
    })?)
}

impl Qdisc {
    fn kind(&self) -> &'static str {
        match self {
            Self::Netem { .. } => "netem",
            Self::Tbf { .. } => "tbf",
        }
    }

    fn check(&self) -> Result<(), Error> {
        let within = |name: &str, holds: bool, allowed: &str| match holds {
            true => Ok(()),
            false => Err(Error::params(
                format!("qdisc.{name}"),
                format!("allowed: {allowed}"),
            )),
        };
        match *self {
            Self::Netem {
                limit_packets,
                delay_ns,
                jitter_ns,
                loss_ratio,
                duplicate_ratio,
                reorder_ratio,
            } => {
                for (name, ratio) in [
                    ("loss_ratio", loss_ratio),
                    ("duplicate_ratio", duplicate_ratio),
                    ("reorder_ratio", reorder_ratio),
                ] {
                    within(name, (0.0..=1.0).contains(&ratio), "0 to 1")?;
                }
                within("limit_packets", limit_packets > 0, "1 or more")?;
                within("delay_ns", delay_ns <= SECOND_NS, "0 to 1000000000")?;
                within("jitter_ns", jitter_ns <= delay_ns, "0 to delay_ns")?;
                let has_order = reorder_ratio == 0.0 || delay_ns > 0;
                within("reorder_ratio", has_order, "0 where nothing is delayed")
            }
            Self::Tbf {
                rate_bps,
                burst_bytes,
                limit_bytes,
                ..
            } => {
                within("rate_bps", rate_bps >= 8, "8 or more")?;
                let holds = burst_bytes >= LEAST_BURST_BYTES;
                within("burst_bytes", holds, "1514 or more")?;
                within("limit_bytes", limit_bytes > 0, "1 or more")
            }
        }
    }

    fn attributes(&self) -> Vec<TcAttribute> {
        let options = match *self {
            Self::Netem {
                limit_packets,
                delay_ns,
                jitter_ns,
                loss_ratio,
                duplicate_ratio,
                reorder_ratio,
            } => {
                let gap = u32::from(reorder_ratio > 0.0);
                // tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; times follow in nanoseconds.
                let mut options = words(&[
                    0,
                    limit_packets,
                    probability(loss_ratio),
                    gap,
                    probability(duplicate_ratio),
                    0,
                ]);
                options.extend(attribute(TCA_NETEM_LATENCY64, &delay_ns.to_ne_bytes()));
                options.extend(attribute(TCA_NETEM_JITTER64, &jitter_ns.to_ne_bytes()));
                if gap > 0 {
                    // tc_netem_reorder: probability, correlation.
                    let reorder = words(&[probability(reorder_ratio), 0]);
                    options.extend(attribute(TCA_NETEM_REORDER, &reorder));
                }
                options
            }
            Self::Tbf {
                rate_bps,
                burst_bytes,
                limit_bytes,
                overhead_bytes,
            } => {
                let bytes_per_s = rate_bps / 8;
                let rate = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
                let mut parameters = rate_specification(rate, overhead_bytes);
                parameters.extend(rate_specification(0, 0)); // no peak rate
                parameters.extend(words(&[limit_bytes, 0, 0])); // limit, buffer, mtu
                let mut options = attribute(TCA_TBF_PARMS, &parameters);
                if rate == u32::MAX {
                    options.extend(attribute(TCA_TBF_RATE64, &bytes_per_s.to_ne_bytes()));
                }
                options.extend(attribute(TCA_TBF_BURST, &burst_bytes.to_ne_bytes()));
                options
            }
        };
        vec![
            TcAttribute::Kind(self.kind().to_owned()),
            TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
        ]
    }
}

/// A probability as netem compares it with 32 random bits.
fn probability(ratio: f64) -> u32 {
    (ratio * f64::from(u32::MAX)).round() as u32
}

/// tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate.
fn rate_specification(bytes_per_s: u32, overhead_bytes: u16) -> Vec<u8> {
    let mut bytes = vec![0, TC_LINKLAYER_ETHERNET];
    bytes.extend(overhead_bytes.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(bytes_per_s.to_ne_bytes());
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A netlink attribute of whole words.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
            (with(tbf(), "rate_bps", json!(0)), "qdisc.rate_bps"),
            (with(tbf(), "burst_bytes", json!(1513)), "qdisc.burst_bytes"),
            (with(tbf(), "limit_bytes", json!(0)), "qdisc.limit_bytes"),
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
}
