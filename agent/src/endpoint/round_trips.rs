//! # How long answers took

use anyhow::Result;
use hdrhistogram::Histogram;

use crate::traffic::layout::DELAY_BITS;
use crate::traffic::sink::histogram::{encode_with, quantile};
use crate::traffic::sink::wire::Durations;

const LONGEST_NS: u64 = 1 << DELAY_BITS;

/// Times of round trips, their sum and extremes to the nanosecond.
#[derive(Debug)]
pub(super) struct RoundTrips {
    histogram: Histogram<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl RoundTrips {
    pub(super) fn new() -> Self {
        Self {
            histogram: of_figures(3),
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.histogram.len()
    }

    #[inline]
    pub(super) fn record(&mut self, time_ns: u64) {
        self.histogram.saturating_record(time_ns);
        self.sum_ns += u128::from(time_ns);
        self.min_ns = self.min_ns.min(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
    }

    pub(super) fn summary(&self) -> Result<Durations> {
        let count = self.count();
        let if_any = (count > 0).then_some(());
        Ok(Durations {
            count,
            min_ns: if_any.map(|()| self.min_ns),
            mean_ns: if_any.map(|()| self.sum_ns as f64 / count as f64),
            p50_ns: quantile(&self.histogram, 500),
            p90_ns: quantile(&self.histogram, 900),
            p99_ns: quantile(&self.histogram, 990),
            p999_ns: quantile(&self.histogram, 999),
            max_ns: if_any.map(|()| self.max_ns),
            histogram: encode_with(|figures| {
                let mut histogram = of_figures(figures);
                histogram.add(&self.histogram)?;
                Ok(histogram)
            })?,
        })
    }
}

fn of_figures(significant_figures: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, significant_figures)
        .expect("the bounds are in order, the figures few")
}
