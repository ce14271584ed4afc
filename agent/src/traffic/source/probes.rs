//! # The probe lane: delay under a flood
//!
//! A flood's own frames wait in its queue, so their delay is the queue's. These frames pass the queue by. Their thread preempts
//! the flood's, and each departs at its time, which is somewhere in its period.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;

use super::feed::Feed;
use super::load::{Tally, Window};
use super::schedule::Schedule;
use crate::cpu::preempt_ordinary_threads;
use crate::error::Error;
use crate::traffic::clock::{now_ns, sleep_until};
use crate::traffic::frame::Departure;

/// How long the lane may sleep without a look at the flag that ends it.
const NAP: Duration = Duration::from_millis(10);

pub(super) struct ProbeLane<'a> {
    feeds: Vec<Feed<'a>>,
    /// Of each stream.
    fps: f64,
}

impl<'a> ProbeLane<'a> {
    pub(super) fn new(feeds: Vec<Feed<'a>>, fps: f64) -> Self {
        Self { feeds, fps }
    }

    /// Sends the probes of one phase from the calling thread, until the window's end or until `ended` is set.
    pub(super) fn send_phase(
        &mut self,
        window: &Window,
        ended: &AtomicBool,
    ) -> Result<Vec<Tally>, Error> {
        preempt_ordinary_threads()
            .context("cannot raise the priority of the probes' thread; grant CAP_SYS_NICE")?;
        let schedule = Schedule::jittered(window.start_ns, self.fps, self.feeds.len());
        for feed in &mut self.feeds {
            feed.begin(window);
        }
        loop {
            let mut next_ns = window.end_ns.min(now_ns() + NAP.as_nanos() as u64);
            for (stream, feed) in self.feeds.iter_mut().enumerate() {
                let now = now_ns();
                if now >= window.end_ns || ended.load(Ordering::Relaxed) {
                    return Ok(self.feeds.iter_mut().map(|feed| feed.end(now)).collect());
                }
                if schedule.due_ns(stream, feed.next()) <= now {
                    feed.stamp(0, true, Departure::at(now));
                    feed.send(1)?;
                }
                next_ns = next_ns.min(schedule.due_ns(stream, feed.next()));
            }
            sleep_until(next_ns);
        }
    }
}
