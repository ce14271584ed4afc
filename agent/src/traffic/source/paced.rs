//! # Paced: every frame at its time
//!
//! A busy-waiting thread serves its strands of all streams, by one schedule with the other threads; on a CPU that it shares, it
//! sleeps for moments. Frames go one by one. A strand that is behind its schedule catches up in short bursts, whose length is
//! counted: a rate at which frames are due faster than the interface takes them one by one is sent so.

use anyhow::Context;

use super::feed::{Feed, Placed};
use super::load::{Load, Part, Punctuality, Stop, TimeHistogram, Window};
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
    strands: Vec<PacedStrand<'a>>,
    /// Streams of the source, of which this thread may serve only some.
    streams: usize,
    /// Of each stream.
    intended_fps: f64,
    lengths: Lengths,
    shares_cpu: bool,
    lags: TimeHistogram,
    gap_errors: TimeHistogram,
    watch: Watch,
}

struct PacedStrand<'a> {
    placed: Placed<'a>,
    probing: Probing,
    /// The last frame that departed, as the stream numbers it, and when it did.
    before: Option<(u64, u64)>,
}

impl<'a> Paced<'a> {
    /// The frames of so many streams' strands, at `intended_fps` of each stream.
    pub(super) fn new(
        strands: Vec<Placed<'a>>,
        streams: usize,
        intended_fps: f64,
        lengths: &Lengths,
        probe_fps: f64,
    ) -> Self {
        let paced = |placed| PacedStrand {
            placed,
            probing: Probing::new(intended_fps, probe_fps),
            before: None,
        };
        Self {
            strands: strands.into_iter().map(paced).collect(),
            streams,
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
    fn begin(&mut self, window: &mut Window) -> Result<(), Error> {
        self.lags.reset();
        self.gap_errors.reset();
        self.watch = Watch::default();
        for PacedStrand {
            placed: Placed { stream, feed },
            probing,
            before,
        } in &mut self.strands
        {
            feed.begin(window);
            let seed = window.start_ns.wrapping_add(*stream as u64);
            probing.begin(seed.wrapping_add(feed.strand().place << u32::BITS));
            *before = None;
        }
        Ok(())
    }

    fn send(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error> {
        if self.shares_cpu {
            preempt_ordinary_threads()
                .context("cannot raise the priority of the source's thread; grant CAP_SYS_NICE")?;
        }
        let schedule = Schedule::new(
            window.start_ns,
            self.intended_fps,
            self.streams,
            &self.lengths,
        );
        while !stop.is_asked() {
            let mut sent = 0;
            for PacedStrand {
                placed: Placed { stream, feed },
                probing,
                before,
            } in &mut self.strands
            {
                let now = now_ns();
                if now >= window.end_ns {
                    return Ok(());
                }
                self.watch.look(now);
                let strand = feed.strand();
                let due_ns = |own| schedule.due_ns(*stream, strand.number(own));
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
                    let (own, departed) = (first + slot as u64, feed.time_ns(slot));
                    let number = strand.number(own);
                    self.lags.record(departed - due_ns(own));
                    if let Some((earlier, left)) = before.replace((number, departed)) {
                        let error_ns = schedule.gap_error_ns(earlier, number, departed - left);
                        self.gap_errors.record(error_ns);
                    }
                }
            }
            if self.shares_cpu && sent == 0 {
                self.watch.leave();
                sleep_until(window.end_ns.min(now_ns() + REST_NS));
            }
        }
        Ok(())
    }

    fn end(&mut self, window: &mut Window) -> Result<Vec<Part>, Error> {
        let end_ns = window.ended_ns();
        let ended = self.strands.iter_mut();
        Ok(ended
            .map(|strand| strand.placed.part(|feed| feed.end(end_ns)))
            .collect())
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
