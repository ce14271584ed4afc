//! The delay histogram: the BPF program's log-linear buckets, and what is said about them.

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use super::wire::Latency;

/// As in `sink.bpf.c`.
const SUB_BUCKET_BITS: u32 = 7;
const SUB_BUCKETS: usize = 1 << SUB_BUCKET_BITS;
const DELAY_BITS: u32 = 36;
pub(super) const DELAY_BUCKETS: usize = (DELAY_BITS - SUB_BUCKET_BITS + 1) as usize * SUB_BUCKETS;

/// Longest histogram in a reply: eight of them and their counts fit into a message of 64 KiB.
const ENCODED_BYTES_MAX: usize = 7 * 1024;

/// The delay in the middle of a bucket; off by less than 0.4% of any delay filed there.
pub(super) fn bucket_middle_ns(bucket: usize) -> u64 {
    let shift = (bucket / SUB_BUCKETS).saturating_sub(1);
    let lowest = ((bucket - shift * SUB_BUCKETS) as u64) << shift;
    lowest + (1 << shift) / 2
}

/// Summarises bucket counts.
pub(super) fn latency(buckets: &[u64]) -> anyhow::Result<Latency> {
    let delays = histogram(buckets, 3)?;
    let count = delays.len();
    let if_any = (count > 0).then_some(());
    Ok(Latency {
        count,
        min_ns: if_any.map(|()| delays.min()),
        mean_ns: if_any.map(|()| delays.mean()),
        p50_ns: quantile(&delays, 500),
        p90_ns: quantile(&delays, 900),
        p99_ns: quantile(&delays, 990),
        p999_ns: quantile(&delays, 999),
        max_ns: if_any.map(|()| delays.max()),
        histogram: encode(buckets)?,
    })
}

fn histogram(buckets: &[u64], significant_figures: u8) -> anyhow::Result<Histogram<u64>> {
    let mut delays = Histogram::new_with_bounds(1, 1 << DELAY_BITS, significant_figures)?;
    for (bucket, &count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        delays.record_n(bucket_middle_ns(bucket), count)?;
    }
    Ok(delays)
}

/// The quantile q = permille / 1000, where at least 10 / (1 - q) samples support it.
fn quantile(delays: &Histogram<u64>, permille: u64) -> Option<u64> {
    let supported = delays.len() * (1000 - permille) >= 10 * 1000;
    supported.then(|| delays.value_at_quantile(permille as f64 / 1000.0))
}

/// HdrHistogram's V2 encoding with three significant figures; with fewer where a message could not hold it.
///
/// Two figures make HdrHistogram's buckets the same as ours, so the first step down loses nothing.
fn encode(buckets: &[u64]) -> anyhow::Result<String> {
    for significant_figures in [3, 2, 1] {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&histogram(buckets, significant_figures)?, &mut bytes)
            .context("cannot encode the delay histogram")?;
        let encoded = STANDARD.encode(bytes);
        if encoded.len() <= ENCODED_BYTES_MAX {
            return Ok(encoded);
        }
    }
    anyhow::bail!("the delay histogram does not fit into {ENCODED_BYTES_MAX} bytes")
}
