//! The delay histogram: the BPF program's log-linear buckets, and what is said about them.

use std::io::Write;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, write::ZlibEncoder};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use super::wire::Durations;
use crate::traffic::layout::{DELAY_BITS, SUB_BUCKET_BITS};

const SUB_BUCKETS: usize = 1 << SUB_BUCKET_BITS;
pub(crate) const DELAY_BUCKETS: usize = (DELAY_BITS - SUB_BUCKET_BITS + 1) as usize * SUB_BUCKETS;

/// What an HdrHistogram in a zlib stream begins with.
const V2_COMPRESSED: u32 = 0x1C84_9314;
/// Longest histogram in a reply: eight of them and their counts fit into a message of 64 KiB.
const ENCODED_BYTES_MAX: usize = 6656;

/// The delay in the middle of a bucket; off by less than 0.4% of any delay filed there.
pub(super) fn bucket_middle_ns(bucket: usize) -> u64 {
    let shift = (bucket / SUB_BUCKETS).saturating_sub(1);
    let lowest = ((bucket - shift * SUB_BUCKETS) as u64) << shift;
    lowest + (1 << shift) / 2
}

/// Summarises bucket counts.
pub(crate) fn durations(buckets: &[u64; DELAY_BUCKETS]) -> anyhow::Result<Durations> {
    let delays = histogram(buckets, 3)?;
    let count = delays.len();
    let if_any = (count > 0).then_some(());
    Ok(Durations {
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

fn histogram(
    buckets: &[u64; DELAY_BUCKETS],
    significant_figures: u8,
) -> anyhow::Result<Histogram<u64>> {
    let mut delays = Histogram::new_with_bounds(1, 1 << DELAY_BITS, significant_figures)?;
    for (bucket, &count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        delays.record_n(bucket_middle_ns(bucket), count)?;
    }
    Ok(delays)
}

/// The quantile q = permille / 1000, where at least 10 / (1 - q) samples support it.
pub(crate) fn quantile(delays: &Histogram<u64>, permille: u64) -> Option<u64> {
    let supported = delays.len() * (1000 - permille) >= 10 * 1000;
    supported.then(|| delays.value_at_quantile(permille as f64 / 1000.0))
}

/// HdrHistogram's V2 encoding with three significant figures; with fewer where a message could not
/// hold it.
///
/// Two figures make HdrHistogram's buckets the same as ours, so the first step down loses nothing.
fn encode(buckets: &[u64; DELAY_BUCKETS]) -> anyhow::Result<String> {
    encode_with(|significant_figures| histogram(buckets, significant_figures))
}

/// The same of what `histogram` gives for so many significant figures.
///
/// Compressed only where it would be too long: inflating is most of what reading many histograms
/// takes, and the files that hold them compress a whole column.
pub(crate) fn encode_with(
    histogram: impl Fn(u8) -> anyhow::Result<Histogram<u64>>,
) -> anyhow::Result<String> {
    for significant_figures in [3, 2, 1] {
        let mut payload = Vec::new();
        V2Serializer::new()
            .serialize(&histogram(significant_figures)?, &mut payload)
            .context("cannot encode the delay histogram")?;
        for compression in [Compression::none(), Compression::default()] {
            let encoded = STANDARD.encode(in_stream(&payload, compression)?);
            if encoded.len() <= ENCODED_BYTES_MAX {
                return Ok(encoded);
            }
        }
    }
    anyhow::bail!("the delay histogram does not fit into {ENCODED_BYTES_MAX} bytes")
}

/// A histogram's payload in a zlib stream, as the encoding wants it, with the header before that.
fn in_stream(payload: &[u8], compression: Compression) -> anyhow::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), compression);
    encoder.write_all(payload)?;
    let stream = encoder.finish()?;
    let stream_bytes = u32::try_from(stream.len())?;
    Ok([
        &V2_COMPRESSED.to_be_bytes()[..],
        &stream_bytes.to_be_bytes(),
        &stream,
    ]
    .concat())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::mem::MaybeUninit;

    use hdrhistogram::serialization::Deserializer;
    use libbpf_rs::ProgramInput;
    use libbpf_rs::skel::{OpenSkel, SkelBuilder};
    use proptest::prelude::*;

    use super::*;
    use crate::traffic::bpf::with_libbpf_log;

    mod skeleton {
        #![allow(clippy::all, dead_code)]
        include!(concat!(env!("OUT_DIR"), "/delay_bucket_test.skel.rs"));
    }

    /// Hands `test` the BPF program's own filing of a delay.
    fn with_bpf_buckets(test: impl FnOnce(&dyn Fn(u64) -> usize)) {
        let mut storage = MaybeUninit::uninit();
        let program = with_libbpf_log("these tests run BPF programs and need root", || {
            skeleton::DelayBucketTestSkelBuilder::default()
                .open(&mut storage)?
                .load()
        })
        .unwrap();
        test(&|delay_ns| {
            let mut frame = [0; 64];
            frame[..8].copy_from_slice(&delay_ns.to_ne_bytes());
            let input = ProgramInput {
                data_in: Some(&frame),
                ..Default::default()
            };
            program
                .progs
                .bucket_of
                .test_run(input)
                .unwrap()
                .return_value as usize
        });
    }

    fn relative_error(delay_ns: u64, found_ns: u64) -> f64 {
        delay_ns.abs_diff(found_ns) as f64 / delay_ns.max(1) as f64
    }

    fn counts(of: &[(usize, u64)]) -> [u64; DELAY_BUCKETS] {
        let mut buckets = [0; DELAY_BUCKETS];
        for &(bucket, count) in of {
            buckets[bucket] = count;
        }
        buckets
    }

    fn decode(encoded: &str) -> Histogram<u64> {
        let bytes = STANDARD.decode(encoded).unwrap();
        Deserializer::new()
            .deserialize(&mut Cursor::new(bytes))
            .unwrap()
    }

    #[test]
    #[ignore = "needs root"]
    fn a_delay_is_found_again_at_every_magnitude() {
        with_bpf_buckets(|bucket_of| {
            proptest!(|(bits in 0..DELAY_BITS, noise in any::<u64>())| {
                let delay_ns = (1 << bits) | (noise & ((1 << bits) - 1));
                let middle_ns = bucket_middle_ns(bucket_of(delay_ns));
                let error = relative_error(delay_ns, middle_ns);
                prop_assert!(error < 0.004, "{delay_ns} found as {middle_ns}");
            });
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn buckets_follow_each_other_without_gap_or_overlap() {
        with_bpf_buckets(|bucket_of| {
            for bucket in 0..DELAY_BUCKETS {
                assert_eq!(bucket_of(bucket_middle_ns(bucket)), bucket);
            }
            for bits in SUB_BUCKET_BITS..DELAY_BITS {
                assert_eq!(
                    bucket_of((1 << bits) - 1) + 1,
                    bucket_of(1 << bits),
                    "at 2^{bits}"
                );
            }
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn delays_beyond_the_last_bucket_stay_in_it() {
        with_bpf_buckets(|bucket_of| {
            for delay_ns in [(1 << DELAY_BITS) - 1, 1 << DELAY_BITS, 1 << 40, u64::MAX] {
                assert_eq!(bucket_of(delay_ns), DELAY_BUCKETS - 1);
            }
        });
    }

    #[test]
    fn quantiles_need_enough_samples() {
        let shown = |count| {
            let latency = durations(&counts(&[(1000, count)])).unwrap();
            [
                latency.p50_ns,
                latency.p90_ns,
                latency.p99_ns,
                latency.p999_ns,
            ]
            .map(|quantile| quantile.is_some())
        };
        assert_eq!(shown(19), [false, false, false, false]);
        assert_eq!(shown(20), [true, false, false, false]);
        assert_eq!(shown(100), [true, true, false, false]);
        assert_eq!(shown(999), [true, true, false, false]);
        assert_eq!(shown(1_000), [true, true, true, false]);
        assert_eq!(shown(9_999), [true, true, true, false]);
        assert_eq!(shown(10_000), [true, true, true, true]);
    }

    #[test]
    fn no_sample_gives_no_number() {
        let latency = durations(&counts(&[])).unwrap();
        assert_eq!(latency.count, 0);
        assert_eq!(
            (latency.min_ns, latency.mean_ns, latency.max_ns),
            (None, None, None)
        );
        assert_eq!(decode(&latency.histogram).len(), 0);
    }

    #[test]
    fn quantiles_stand_where_the_samples_are() {
        let (fast, slow) = (1000, 2000);
        let latency = durations(&counts(&[(fast, 9_500), (slow, 500)])).unwrap();
        for (quantile, bucket) in [
            (latency.p50_ns, fast),
            (latency.p90_ns, fast),
            (latency.p99_ns, slow),
        ] {
            assert!(relative_error(bucket_middle_ns(bucket), quantile.unwrap()) < 0.001);
        }
        let mean = (9_500 * bucket_middle_ns(fast) + 500 * bucket_middle_ns(slow)) / 10_000;
        assert!(relative_error(mean, latency.mean_ns.unwrap() as u64) < 0.001);
    }

    proptest! {
        #[test]
        fn the_encoding_keeps_every_sample(
            samples in prop::collection::btree_map(0..DELAY_BUCKETS, 1..1_000_000u64, 0..200)
        ) {
            let samples: Vec<_> = samples.into_iter().collect();
            let buckets = counts(&samples);
            prop_assert_eq!(decode(&encode(&buckets).unwrap()), histogram(&buckets, 3).unwrap());
        }

        #[test]
        fn few_samples_are_not_compressed(
            samples in prop::collection::btree_map(0..DELAY_BUCKETS, 1..100u64, 0..200)
        ) {
            let samples: Vec<_> = samples.into_iter().collect();
            let encoded = STANDARD.decode(encode(&counts(&samples)).unwrap()).unwrap();
            let (zlib_header, stored_and_last) = (8..10, 1);
            prop_assert_eq!(encoded[zlib_header.end], stored_and_last);
        }

        #[test]
        fn the_worst_histogram_fits_its_share_of_a_message(
            seed in prop::array::uniform32(1..1u64 << 40)
        ) {
            let mut buckets = [0; DELAY_BUCKETS];
            for (bucket, count) in buckets.iter_mut().enumerate() {
                *count = seed[bucket % 32].rotate_left(bucket as u32) >> 20;
            }
            let encoded = encode(&buckets).unwrap();
            prop_assert!(encoded.len() <= ENCODED_BYTES_MAX);
            prop_assert_eq!(decode(&encoded).len(), buckets.iter().sum::<u64>());
        }
    }
}
