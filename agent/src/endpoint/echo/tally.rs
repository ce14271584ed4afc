//! # Which requests wait, and what became of them

use std::collections::VecDeque;

use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

use crate::endpoint::round_trips::RoundTrips;
use crate::traffic::sink::wire::Durations;

/// Requests of a run; those of the warm-up are waited for and not counted.
#[derive(Debug)]
pub(super) struct Tally {
    timeout_ns: u64,
    /// By sequence, from the oldest that may still be answered in time.
    waiting: VecDeque<Waiting>,
    oldest: u64,
    sent: u64,
    lost: u64,
    duplicated: u64,
    strays: u64,
    last_problem: Option<String>,
    latency: RoundTrips,
}

#[derive(Debug)]
struct Waiting {
    sent_ns: u64,
    is_measured: bool,
    is_answered: bool,
}

/// `echo.collect`: requests of the last run's measured phase.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct EchoCollectAnswer {
    /// Requests that were sent.
    sent: u64,
    /// Requests that were answered in time.
    received: u64,
    /// Requests that were not answered in time.
    lost: u64,
    /// Further answers to what is answered, of both phases, while it could be.
    duplicated: u64,
    /// Answers too late, and to other trials.
    strays: u64,
    /// Why the kernel did not send the last that it refused; null where it refused none. They are among the lost.
    last_problem: Option<String>,
    /// Round-trip times, from when each request was sent.
    latency: Durations,
}

impl Tally {
    pub(super) fn new(timeout_ns: u64) -> Self {
        Self {
            timeout_ns,
            waiting: VecDeque::new(),
            oldest: 0,
            sent: 0,
            lost: 0,
            duplicated: 0,
            strays: 0,
            last_problem: None,
            latency: RoundTrips::new(),
        }
    }

    /// The sequence of the next request.
    pub(super) fn next(&self) -> u64 {
        self.oldest + self.waiting.len() as u64
    }

    /// The next request has left, or was refused: then it waits for its timeout all the same, so that the kernel is not hammered.
    pub(super) fn send(&mut self, sent_ns: u64, is_measured: bool, problem: Option<String>) {
        self.sent += u64::from(is_measured);
        self.last_problem = problem.or(self.last_problem.take());
        self.waiting.push_back(Waiting {
            sent_ns,
            is_measured,
            is_answered: false,
        });
    }

    /// An answer to `sequence` has come; None where it is none of this trial's.
    pub(super) fn receive(&mut self, sequence: Option<u64>, came_ns: u64) {
        let place = sequence.and_then(|sequence| sequence.checked_sub(self.oldest));
        let waiting = place.and_then(|place| self.waiting.get_mut(usize::try_from(place).ok()?));
        match waiting {
            Some(waiting) if came_ns >= waiting.sent_ns + self.timeout_ns => self.strays += 1,
            Some(waiting) if waiting.is_answered => self.duplicated += 1,
            Some(waiting) => {
                waiting.is_answered = true;
                if waiting.is_measured {
                    self.latency.record(came_ns.saturating_sub(waiting.sent_ns));
                }
            }
            None => self.strays += 1,
        }
    }

    /// Gives up what has waited too long.
    pub(super) fn expire(&mut self, now_ns: u64) {
        while let Some(oldest) = self.waiting.front() {
            if now_ns < oldest.sent_ns + self.timeout_ns {
                break;
            }
            self.lost += u64::from(oldest.is_measured && !oldest.is_answered);
            self.waiting.pop_front();
            self.oldest += 1;
        }
    }

    /// When the oldest that waits has waited too long; None where none does.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        let waits = self.waiting.iter().find(|waiting| !waiting.is_answered);
        waits.map(|waiting| waiting.sent_ns + self.timeout_ns)
    }

    pub(super) fn reply(&self) -> Result<EchoCollectAnswer> {
        Ok(EchoCollectAnswer {
            sent: self.sent,
            received: self.latency.count(),
            lost: self.lost,
            duplicated: self.duplicated,
            strays: self.strays,
            last_problem: self.last_problem.clone(),
            latency: self.latency.summary()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three requests, 100 ns apart, of which the first is of the warm-up.
    fn asked() -> Tally {
        let mut tally = Tally::new(1000);
        for sequence in 0..3 {
            assert_eq!(tally.next(), sequence);
            tally.send(sequence * 100, sequence > 0, None);
        }
        tally
    }

    #[test]
    fn answers_count_by_their_request_in_any_order() {
        let mut tally = asked();
        for (sequence, now_ns) in [(2, 250), (0, 260), (1, 270)] {
            tally.receive(Some(sequence), now_ns);
        }
        assert_eq!(tally.deadline_ns(), None);
        let reply = tally.reply().unwrap();
        assert_eq!((reply.sent, reply.received, reply.lost), (2, 2, 0));
        let latency = reply.latency;
        assert_eq!((latency.min_ns, latency.max_ns), (Some(50), Some(170)));
    }

    #[test]
    fn what_is_not_answered_in_time_is_lost_and_its_answer_a_stray() {
        let mut tally = asked();
        tally.receive(Some(1), 150);
        assert_eq!(tally.deadline_ns(), Some(1000));
        // Too late, though nothing is given up yet.
        tally.receive(Some(0), 1000);
        tally.expire(1199);
        assert_eq!(tally.deadline_ns(), Some(1200));
        tally.expire(1200);
        assert_eq!((tally.deadline_ns(), tally.next()), (None, 3));
        tally.receive(Some(2), 1300);
        let reply = tally.reply().unwrap();
        assert_eq!((reply.received, reply.lost, reply.strays), (1, 1, 2));
    }

    #[test]
    fn answers_beyond_the_first_and_to_nothing_asked_are_told_apart() {
        let mut tally = asked();
        for sequence in [Some(1), Some(1), Some(3), Some(u64::MAX), None] {
            tally.receive(sequence, 500);
        }
        let reply = tally.reply().unwrap();
        assert_eq!((reply.received, reply.duplicated, reply.strays), (1, 1, 3));
    }
}
