//! netem: loss, delay, duplication and order, see tc-netem(8).

use schemars::JsonSchema;
use serde::Deserialize;

use super::attributes::{attribute, require, require_within, words};
use crate::api::bounds::{GREATEST_EGRESS_DELAY_NS, GREATEST_QUEUE_PACKETS, GREATEST_RATIO};
use crate::error::Error;

/// Least length of a queue, in packets.
const LEAST_LIMIT: u64 = 1;

pub(super) const TCA_NETEM_REORDER: u16 = 3;
pub(super) const TCA_NETEM_LATENCY64: u16 = 10;
pub(super) const TCA_NETEM_JITTER64: u16 = 11;

/// netem: loss, delay, duplication and order, see tc-netem(8).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Netem {
    /// The length of the queue, in packets: 1 to 1,000,000.
    #[schemars(range(min = LEAST_LIMIT, max = GREATEST_QUEUE_PACKETS))]
    limit_packets: u32,
    /// The delay of each packet, in ns: at most 1 s.
    #[schemars(range(max = GREATEST_EGRESS_DELAY_NS))]
    delay_ns: u64,
    /// How far the delay varies either way, in ns: at most `delay_ns`.
    jitter_ns: u64,
    /// The share of packets lost, 0 to 1.
    #[schemars(range(min = 0, max = GREATEST_RATIO))]
    loss_ratio: f64,
    /// The share of packets sent twice, 0 to 1.
    #[schemars(range(min = 0, max = GREATEST_RATIO))]
    duplicate_ratio: f64,
    /// The share of packets that are sent at once while the others are delayed.
    #[schemars(range(min = 0, max = GREATEST_RATIO))]
    reorder_ratio: f64,
}

impl Netem {
    pub(super) fn check(&self) -> Result<(), Error> {
        for (name, ratio) in [
            ("loss_ratio", self.loss_ratio),
            ("duplicate_ratio", self.duplicate_ratio),
            ("reorder_ratio", self.reorder_ratio),
        ] {
            require_within(name, ratio, 0.0..=GREATEST_RATIO as f64)?;
        }
        let limit = LEAST_LIMIT..=GREATEST_QUEUE_PACKETS;
        require_within("limit_packets", u64::from(self.limit_packets), limit)?;
        require_within("delay_ns", self.delay_ns, 0..=GREATEST_EGRESS_DELAY_NS)?;
        let steady = self.jitter_ns <= self.delay_ns;
        require("jitter_ns", steady, "0 to delay_ns")?;
        let has_order = self.reorder_ratio == 0.0 || self.delay_ns > 0;
        require("reorder_ratio", has_order, "0 where nothing is delayed")
    }

    pub(super) fn options(&self) -> Vec<u8> {
        let gap = u32::from(self.reorder_ratio > 0.0);
        // tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; times follow in nanoseconds.
        let mut options = words(&[
            0,
            self.limit_packets,
            probability(self.loss_ratio),
            gap,
            probability(self.duplicate_ratio),
            0,
        ]);
        options.extend(attribute(TCA_NETEM_LATENCY64, &self.delay_ns.to_ne_bytes()));
        options.extend(attribute(TCA_NETEM_JITTER64, &self.jitter_ns.to_ne_bytes()));
        if gap > 0 {
            // tc_netem_reorder: probability, correlation.
            let reorder = words(&[probability(self.reorder_ratio), 0]);
            options.extend(attribute(TCA_NETEM_REORDER, &reorder));
        }
        options
    }
}

/// A probability as netem compares it with 32 random bits.
pub(super) fn probability(ratio: f64) -> u32 {
    (ratio * f64::from(u32::MAX)).round() as u32
}
