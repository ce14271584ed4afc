//! # Paced: every frame at its time
//!
//! One busy-waiting thread serves all streams from one schedule; on a CPU that it shares, it sleeps for moments. Frames go one by
//! one. A stream that is behind its schedule catches up in short bursts, whose length is counted: a rate at which frames are due
//! faster than the interface takes them one by one is sent so.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::feed::Feed;
use super::load::{Load, Punctuality, Tally, TimeHistogram, Window};
use super::pauses::Watch;
use super::schedule::{Probing, Schedule};
use crate::cpu::preempt_ordinary_threads;
use crate::error::Error;
use crate::traffic::clock::{now_ns, sleep_until};
use crate::traffic::frame::Departure;
use crate::traffic::lengths::Lengths;

/// Most frames sent at once.
const BURST: usize = 4;
/// How long a thread that shares its CPU sleeps at once: what is due meanwhile fits any ring.
const REST_NS: u64 = 50_000;

pub(super) struct Paced<'a> {
    feeds: Vec<Feed<'a>>,
    /// Of each stream.
    intended_fps: f64,
    lengths: Lengths,
    /// Of each stream.
    probing: Vec<Probing>,
    shares_cpu: bool,
    lags: TimeHistogram,
    gap_errors: TimeHistogram,
    watch: Watch,
}

impl<'a> Paced<'a> {
    pub(super) fn new(
        feeds: Vec<Feed<'a>>,
        intended_fps: f64,
        lengths: &Lengths,
        probe_fps: f64,
    ) -> Self {
        Self {
            probing: vec![Probing::new(intended_fps, probe_fps); feeds.len()],
            feeds,
            intended_fps,
            lengths: lengths.clone(),
            shares_cpu: false,
            lags: TimeHistogram::new(),
            gap_errors: TimeHistogram::new(),
            watch: Watch::default(),
        }
    }

    /// The same on a CPU that others have as well, or not.
    pub(super) fn sharing_cpu(self, shares_cpu: bool) -> Self {
        Self { shares_cpu, ..self }
    }
}

impl Load for Paced<'_> {
    fn send_phase(&mut self, window: &mut Window, abort: &AtomicBool) -> Result<Vec<Tally>, Error> {
        if self.shares_cpu {
            preempt_ordinary_threads()
                .context("cannot raise the priority of the source's thread; grant CAP_SYS_NICE")?;
        }
        let schedule = Schedule::new(
            window.start_ns,
            self.intended_fps,
            self.feeds.len(),
            &self.lengths,
        );
        self.lags.reset();
        self.gap_errors.reset();
        self.watch = Watch::default();
        let mut departed_ns = vec![None; self.feeds.len()];
        for (stream, (feed, probing)) in self.feeds.iter_mut().zip(&mut self.probing).enumerate() {
            feed.begin(window);
            probing.begin(window.start_ns.wrapping_add(stream as u64));
        }
        'phase: while !abort.load(Ordering::Relaxed) {
            let mut sent = 0;
            for (stream, (feed, probing)) in
                self.feeds.iter_mut().zip(&mut self.probing).enumerate()
            {
                let now = now_ns();
                if now >= window.end_ns {
                    break 'phase;
                }
                self.watch.look(now);
                let due_ns = |number| schedule.due_ns(stream, number);
                if due_ns(feed.next()) > now {
                    continue;
                }
                let allowed = feed.allowed(now);
                if allowed == 0 {
                    continue;
                }
                self.watch.leave();
                let first = feed.next();
                let count = stamp_due(feed, now, window.end_ns, allowed, probing, due_ns);
                let done = feed.send(count)?;
                sent += done;
                if done > 0 && probing.is_probe(first) {
                    feed.count_probe();
                    probing.sent();
                }
                for slot in 0..done {
                    let (number, departed) = (first + slot as u64, feed.time_ns(slot));
                    self.lags.record(departed - due_ns(number));
                    if let Some(before) = departed_ns[stream].replace(departed) {
                        self.gap_errors
                            .record(schedule.gap_error_ns(number, departed - before));
                    }
                }
            }
            if self.shares_cpu && sent == 0 {
                self.watch.leave();
                sleep_until(window.end_ns.min(now_ns() + REST_NS));
            }
        }
        let end_ns = window.ended_ns();
        Ok(self.feeds.iter_mut().map(|feed| feed.end(end_ns)).collect())
    }

    fn punctuality(&self) -> Option<Punctuality> {
        Some(Punctuality {
            lag_ns: self.lags.quantiles(),
            gap_error_ns: self.gap_errors.quantiles(),
            pauses: self.watch.found(),
        })
    }
}

/// Stamps the frames to send now, of which the first is due, and returns their number.
///
/// A probe is alone, so that it waits for no other frame. It tells when it was due: the load is an open loop, and what a late
/// source adds is not to be hidden from those who wait.
#[inline]
fn stamp_due(
    feed: &mut Feed<'_>,
    mut now: u64,
    end_ns: u64,
    allowed: usize,
    probing: &Probing,
    due_ns: impl Fn(u64) -> u64,
) -> usize {
    let first = feed.next();
    let is_probe = probing.is_probe(first);
    feed.stamp(0, is_probe, Departure::due(due_ns(first), now));
    if is_probe {
        return 1;
    }
    let mut count = 1;
    while count < BURST.min(allowed) && due_ns(first + count as u64) <= now {
        let number = first + count as u64;
        now = now_ns();
        if probing.is_probe(number) || now >= end_ns {
            break;
        }
        feed.stamp(count, false, Departure::due(due_ns(number), now));
        count += 1;
    }
    count
}
