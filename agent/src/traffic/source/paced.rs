//! # Paced: every frame at its time
//!
//! One busy-waiting thread serves all streams from one schedule. Frames go one by one. A stream that is behind its schedule
//! catches up in batches.

use std::sync::atomic::{AtomicBool, Ordering};

use super::feed::Feed;
use super::mechanism::{Lag, LagHistogram, Mechanism, Tally, Window};
use super::schedule::{Schedule, probe_interval};
use super::socket::BATCH;
use crate::Error;
use crate::traffic::clock::now_ns;

pub(super) struct Paced<'a> {
    feeds: Vec<Feed<'a>>,
    /// Of each stream.
    intended_fps: f64,
    /// One frame in so many is a probe.
    probe_interval: u64,
    lags: LagHistogram,
}

impl<'a> Paced<'a> {
    pub(super) fn new(feeds: Vec<Feed<'a>>, intended_fps: f64, probe_fps: f64) -> Self {
        Self {
            feeds,
            intended_fps,
            probe_interval: probe_interval(intended_fps, probe_fps),
            lags: LagHistogram::new(),
        }
    }
}

impl Mechanism for Paced<'_> {
    fn send_phase(&mut self, window: &Window, abort: &AtomicBool) -> Result<Vec<Tally>, Error> {
        let schedule = Schedule::new(window.start_ns, self.intended_fps, self.feeds.len());
        self.lags.reset();
        for feed in &mut self.feeds {
            feed.begin(window.phase);
        }
        'phase: while !abort.load(Ordering::Relaxed) {
            for (stream, feed) in self.feeds.iter_mut().enumerate() {
                let now = now_ns();
                if now >= window.end_ns {
                    break 'phase;
                }
                let due_ns = |number| schedule.due_ns(stream, number);
                if due_ns(feed.next()) > now {
                    continue;
                }
                let first = feed.next();
                let count = stamp_due(feed, now, window.end_ns, self.probe_interval, due_ns);
                let done = feed.send(count);
                for slot in 0..done {
                    self.lags
                        .record(feed.time_ns(slot) - due_ns(first + slot as u64));
                }
            }
        }
        Ok(self.feeds.iter().map(Feed::tally).collect())
    }

    fn lag(&self) -> Option<Lag> {
        Some(self.lags.lag())
    }
}

/// Stamps the frames to send now, of which the first is due, and returns their number.
///
/// A probe is alone, so that it waits for no other frame. Delay counts from when a frame was due: the load is an open loop,
/// and what a late source adds is not to be hidden from those who wait.
#[inline]
fn stamp_due(
    feed: &mut Feed<'_>,
    mut now: u64,
    end_ns: u64,
    probe_interval: u64,
    due_ns: impl Fn(u64) -> u64,
) -> usize {
    let first = feed.next();
    let is_probe = first % probe_interval == 0;
    feed.stamp(0, is_probe, due_ns(first), now);
    if is_probe {
        return 1;
    }
    let mut count = 1;
    while count < BATCH && due_ns(first + count as u64) <= now {
        let number = first + count as u64;
        now = now_ns();
        if number % probe_interval == 0 || now >= end_ns {
            break;
        }
        feed.stamp(count, false, due_ns(number), now);
        count += 1;
    }
    count
}
