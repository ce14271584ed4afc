//! tbf: a token bucket that limits the rate, see tc-tbf(8).

use schemars::JsonSchema;
use serde::Deserialize;

use super::attributes::{attribute, require_within, words};
use crate::api::bounds::{
    GREATEST_EGRESS_BPS, GREATEST_EGRESS_OVERHEAD_BYTES, GREATEST_QUEUE_BYTES, LEAST_BUCKET_BYTES,
    LEAST_EGRESS_BPS,
};
use crate::error::Error;

/// Least length of a queue, in bytes.
const LEAST_LIMIT: u64 = 1;

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
/// Then the kernel counts bytes by itself and wants no table of rates.
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// tbf: a token bucket that limits the rate, see tc-tbf(8).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tbf {
    /// The rate, in bit/s: 8 to 10^12.
    #[schemars(range(min = LEAST_EGRESS_BPS, max = GREATEST_EGRESS_BPS))]
    rate_bps: u64,
    /// The size of the bucket, in bytes: 1514 to 2^30.
    #[schemars(range(min = LEAST_BUCKET_BYTES, max = GREATEST_QUEUE_BYTES))]
    burst_bytes: u32,
    /// The length of the queue, in bytes: 1 to 2^30.
    #[schemars(range(min = LEAST_LIMIT, max = GREATEST_QUEUE_BYTES))]
    limit_bytes: u32,
    /// Counted with every frame, in bytes: at most 1000.
    #[schemars(range(max = GREATEST_EGRESS_OVERHEAD_BYTES))]
    overhead_bytes: u16,
}

impl Tbf {
    pub(super) fn check(&self) -> Result<(), Error> {
        for (name, value, allowed) in [
            (
                "rate_bps",
                self.rate_bps,
                LEAST_EGRESS_BPS..=GREATEST_EGRESS_BPS,
            ),
            (
                "burst_bytes",
                self.burst_bytes.into(),
                LEAST_BUCKET_BYTES..=GREATEST_QUEUE_BYTES,
            ),
            (
                "limit_bytes",
                self.limit_bytes.into(),
                LEAST_LIMIT..=GREATEST_QUEUE_BYTES,
            ),
            (
                "overhead_bytes",
                self.overhead_bytes.into(),
                0..=GREATEST_EGRESS_OVERHEAD_BYTES,
            ),
        ] {
            require_within(name, value, allowed)?;
        }
        Ok(())
    }

    pub(super) fn options(&self) -> Vec<u8> {
        let bytes_per_s = self.rate_bps / 8;
        let rate = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
        let mut parameters = rate_specification(rate, self.overhead_bytes);
        parameters.extend(rate_specification(0, 0)); // no peak rate
        parameters.extend(words(&[self.limit_bytes, 0, 0])); // limit, buffer, mtu
        let mut options = attribute(TCA_TBF_PARMS, &parameters);
        if rate == u32::MAX {
            options.extend(attribute(TCA_TBF_RATE64, &bytes_per_s.to_ne_bytes()));
        }
        options.extend(attribute(TCA_TBF_BURST, &self.burst_bytes.to_ne_bytes()));
        options
    }
}

/// tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate.
fn rate_specification(bytes_per_s: u32, overhead_bytes: u16) -> Vec<u8> {
    let mut bytes = vec![0, TC_LINKLAYER_ETHERNET];
    bytes.extend(overhead_bytes.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(bytes_per_s.to_ne_bytes());
    bytes
}
