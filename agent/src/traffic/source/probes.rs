//! # The probe lane: delay under a flood
//!
//! A flood's own frames wait in its queue, so their delay is the queue's. These frames pass the queue by. Their thread preempts
//! the flood's, and each departs at its time, which is somewhere in its period.

use std::time::Duration;

use anyhow::Context;

use super::feed::Placed;
use super::load::{Load, Part, Stop, Tally, Window};
use super::schedule::Schedule;
use crate::cpu::preempt_ordinary_threads;
use crate::error::Error;
use crate::traffic::clock::{now_ns, sleep_until};
use crate::traffic::frame::Departure;

/// How long the lane may sleep without a look at what ends it.
const NAP: Duration = Duration::from_millis(10);

pub(super) struct ProbeLane<'a> {
    /// One of each stream.
    feeds: Vec<Placed<'a>>,
    /// Of each stream.
    fps: f64,
}

impl<'a> ProbeLane<'a> {
    pub(super) fn new(feeds: Vec<Placed<'a>>, fps: f64) -> Self {
        Self { feeds, fps }
    }
}

impl Load for ProbeLane<'_> {
    fn begin(&mut self, window: &mut Window) -> Result<(), Error> {
        for placed in &mut self.feeds {
            placed.feed.begin(window);
        }
        Ok(())
    }

    fn send(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error> {
        preempt_ordinary_threads()
            .context("cannot raise the priority of the probes' thread; grant CAP_SYS_NICE")?;
        let schedule = Schedule::jittered(window.start_ns, self.fps, self.feeds.len());
        loop {
            let mut next_ns = window.end_ns.min(now_ns() + NAP.as_nanos() as u64);
            for Placed { stream, feed } in &mut self.feeds {
                let now = now_ns();
                if now >= window.end_ns || stop.is_asked() {
                    return Ok(());
                }
                if schedule.due_ns(*stream, feed.next()) <= now {
                    feed.stamp(0, true, Departure::at(now));
                    feed.send(1)?;
                }
                next_ns = next_ns.min(schedule.due_ns(*stream, feed.next()));
            }
            sleep_until(next_ns);
        }
    }

    fn end(&mut self, window: &mut Window) -> Result<Vec<Part>, Error> {
        let end_ns = window.ended_ns();
        let beside = |sent: Tally| Tally {
            probes_sent: sent.frames_sent,
            probes_refused: sent.send_errors.unwrap_or_default(),
            ..Tally::default()
        };
        let ended = self.feeds.iter_mut();
        Ok(ended
            .map(|placed| placed.part(|feed| beside(feed.end(end_ns))))
            .collect())
    }
}
