//! # What each iteration took, and how it ended

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an iteration ended whose message did not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RelayStatus {
    /// Nothing came in time.
    Timeout,
    /// The next relay took no connection.
    Refused,
    /// A connection broke, or brought half a message.
    Broken,
    /// The connection ended where a message might have begun.
    Ended,
    /// What came is no message of this iteration.
    Garbage,
}

/// A run of the master's. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Run {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Of each iteration: until the message was back, or until it was known that it would not be.
    pub(super) ns: Vec<u64>,
    /// The iterations that whose message did not come back, in their order.
    pub(super) undone: Vec<(usize, RelayStatus)>,
    pub(super) last_problem: Option<String>,
    /// Whether it ended early, since nothing went round any more.
    pub(super) given_up: bool,
}

/// Why a message did not get further.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: RelayStatus,
    pub(super) problem: String,
}

impl Failure {
    pub(super) fn new(status: RelayStatus, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self { status, problem }
    }

    pub(super) fn of_connecting(errno: Errno) -> Self {
        match Self::from(errno) {
            Self {
                status: RelayStatus::Broken,
                problem,
            } => Self::new(RelayStatus::Refused, problem),
            // A connect that its time limit ends says that it is under way.
            other => other,
        }
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::EAGAIN | Errno::EINPROGRESS | Errno::ETIMEDOUT => {
                Self::new(RelayStatus::Timeout, "nothing came in time")
            }
            other => Self::new(RelayStatus::Broken, other.desc()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_becomes_a_status() {
        for (errno, received, connected) in [
            (Errno::EAGAIN, RelayStatus::Timeout, RelayStatus::Timeout),
            (
                Errno::EINPROGRESS,
                RelayStatus::Timeout,
                RelayStatus::Timeout,
            ),
            (
                Errno::ECONNREFUSED,
                RelayStatus::Broken,
                RelayStatus::Refused,
            ),
            (Errno::ECONNRESET, RelayStatus::Broken, RelayStatus::Refused),
        ] {
            assert_eq!(Failure::from(errno).status, received);
            assert_eq!(Failure::of_connecting(errno).status, connected);
        }
    }
}
