//! # When each message leaves, and of which phase it is

use crate::endpoint::record::Phase;
use crate::endpoint::run::Times;

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) trial: u32,
    pub(super) times: Times,
    /// From one message of a flow to its next. None: as soon as it goes.
    pub(super) interval_ns: Option<f64>,
    pub(super) flows: usize,
}

/// What a flow is to do with its next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Send(Phase),
    WaitUntil(u64),
    /// The window is over.
    End,
}

impl Plan {
    /// What to do at `now_ns` with a flow's message number `slot`.
    ///
    /// A message that was due in the warm-up is of the warm-up however late it leaves, and one that did not leave by the window's
    /// end never does.
    #[inline]
    pub(super) fn next(&self, flow: usize, slot: u64, now_ns: u64) -> Next {
        let due_ns = self.interval_ns.map(|interval_ns| {
            // From the number itself, so that no rounding adds up; flows take turns within an interval.
            let intervals = slot as f64 + flow as f64 / self.flows as f64;
            self.times
                .begin_ns
                .saturating_add((intervals * interval_ns) as u64)
        });
        let time_ns = due_ns.unwrap_or(now_ns);
        if now_ns >= self.times.end_ns || time_ns >= self.times.end_ns {
            Next::End
        } else if time_ns > now_ns {
            Next::WaitUntil(time_ns)
        } else if time_ns >= self.times.start_ns {
            Next::Send(Phase::Measure)
        } else {
            Next::Send(Phase::Warmup)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(interval_ns: Option<f64>) -> Plan {
        Plan {
            trial: 7,
            times: Times {
                begin_ns: 1000,
                start_ns: 2000,
                end_ns: 4000,
            },
            interval_ns,
            flows: 2,
        }
    }

    #[test]
    fn without_a_rate_the_clock_alone_tells_the_phase() {
        let plan = plan(None);
        for (now_ns, next) in [
            (1000, Next::Send(Phase::Warmup)),
            (1999, Next::Send(Phase::Warmup)),
            (2000, Next::Send(Phase::Measure)),
            (3999, Next::Send(Phase::Measure)),
            (4000, Next::End),
        ] {
            assert_eq!(plan.next(1, 0, now_ns), next);
        }
    }

    #[test]
    fn at_a_rate_each_message_has_its_time() {
        let plan = plan(Some(100.0));
        assert_eq!(plan.next(0, 3, 1250), Next::WaitUntil(1300));
        assert_eq!(plan.next(1, 3, 1250), Next::WaitUntil(1350));
        assert_eq!(plan.next(1, 3, 1350), Next::Send(Phase::Warmup));
        // Late, and still what it was due as.
        assert_eq!(plan.next(0, 9, 3000), Next::Send(Phase::Warmup));
        assert_eq!(plan.next(0, 10, 3000), Next::Send(Phase::Measure));
        assert_eq!(plan.next(0, 29, 4000), Next::End);
        assert_eq!(plan.next(0, 30, 3999), Next::End);
        let measured = (0..).map_while(|slot| match plan.next(0, slot, 3999) {
            Next::Send(phase) => Some(phase),
            _ => None,
        });
        let measured = measured.filter(|&phase| phase == Phase::Measure);
        assert_eq!(measured.count(), 20);
    }
}
