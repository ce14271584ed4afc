//! # What a run measured

use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

use super::exchange::{Failure, Outcome, RoundTrip};
use crate::endpoint::round_trips::RoundTrips;
use crate::traffic::sink::wire::Durations;

/// Transactions of the measured phase.
#[derive(Debug)]
pub(super) struct Tally {
    failed: u64,
    strays: u64,
    last_problem: Option<String>,
    pub(super) retransmissions: Option<u64>,
    latency: RoundTrips,
    /// Of a paced run: what counts from when each request was due.
    corrected: Option<RoundTrips>,
}

/// `requester.collect`: transactions of the last run's measured phase.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RequesterCollectAnswer {
    /// Completed transactions.
    transactions: u64,
    /// Transactions without their answer in time.
    failed: u64,
    /// Datagrams that came and answered nothing that was asked.
    strays: u64,
    /// Why the last failed transaction failed; null where none did.
    last_problem: Option<String>,
    /// Segments of requests that TCP sent again; null of other protocols, and where nothing was measured.
    retransmissions: Option<u64>,
    /// Response times, from when each request was sent.
    latency: Durations,
    /// Response times from when each request was due, which a late answer may have delayed; null where none was due at
    /// a time.
    corrected: Option<Durations>,
}

impl Tally {
    pub(super) fn new(is_paced: bool) -> Self {
        Self {
            failed: 0,
            strays: 0,
            last_problem: None,
            retransmissions: None,
            latency: RoundTrips::new(),
            corrected: is_paced.then(RoundTrips::new),
        }
    }

    /// Transactions, the failed ones among them.
    #[inline]
    pub(super) fn begun(&self) -> u64 {
        self.latency.count() + self.failed
    }

    #[inline]
    pub(super) fn count(&mut self, due_ns: u64, outcome: &Outcome) {
        self.strays += outcome.strays;
        match &outcome.result {
            Ok(RoundTrip {
                sent_ns,
                received_ns,
            }) => {
                self.latency.record(received_ns - sent_ns);
                if let Some(corrected) = &mut self.corrected {
                    corrected.record(received_ns - due_ns);
                }
            }
            Err(Failure { problem, .. }) => {
                self.failed += 1;
                self.last_problem = Some(problem.clone());
            }
        }
    }

    pub(super) fn reply(&self) -> Result<RequesterCollectAnswer> {
        Ok(RequesterCollectAnswer {
            transactions: self.latency.count(),
            failed: self.failed,
            strays: self.strays,
            last_problem: self.last_problem.clone(),
            retransmissions: self.retransmissions,
            latency: self.latency.summary()?,
            corrected: self
                .corrected
                .as_ref()
                .map(RoundTrips::summary)
                .transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(sent_ns: u64, received_ns: u64) -> Outcome {
        let result = Ok(RoundTrip {
            sent_ns,
            received_ns,
        });
        Outcome { strays: 0, result }
    }

    #[test]
    fn a_request_that_had_to_wait_counts_from_when_it_was_due() {
        let mut tally = Tally::new(true);
        tally.count(1_000, &outcome(1_500, 3_000));
        tally.count(2_000, &outcome(3_001, 4_000));
        let reply = tally.reply().unwrap();
        assert_eq!(reply.latency.mean_ns, Some((1_500 + 999) as f64 / 2.0));
        let corrected = reply.corrected.unwrap();
        assert_eq!(
            (corrected.min_ns, corrected.max_ns),
            (Some(2_000), Some(2_000))
        );
    }

    #[test]
    fn failures_have_no_time() {
        let mut tally = Tally::new(false);
        tally.count(0, &outcome(0, 70_000_000_000));
        let problem = "Connection reset by peer".to_owned();
        let result = Err(Failure {
            until_ns: 1,
            problem: problem.clone(),
        });
        tally.count(0, &Outcome { strays: 3, result });
        let reply = tally.reply().unwrap();
        assert_eq!((reply.transactions, reply.failed, reply.strays), (1, 1, 3));
        assert_eq!(reply.last_problem, Some(problem));
        // Beyond the histogram's end, and still told as it was.
        assert_eq!(reply.latency.max_ns, Some(70_000_000_000));
        assert!(reply.corrected.is_none());
    }

    #[test]
    fn nothing_measured_gives_no_number() {
        let latency = Tally::new(false).reply().unwrap().latency;
        assert_eq!(
            (latency.count, latency.mean_ns, latency.max_ns),
            (0, None, None)
        );
    }
}
