//! Frames one by one at their scheduled departure, by a thread that waits busily.
//!
//! When it is behind by more than a frame, what is due of a stream leaves with one system call, each frame stamped just before
//! it. Probes always leave alone, so that their stamp is that of their own send.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::Context;
use hdrhistogram::Histogram;

use super::batch::{BATCH_FRAMES, Batch};
use super::socket::Sent;
use super::wire::{Counts, Lag};
use super::{Job, Mechanism, Sendings, Stream, Window};
use crate::traffic::clock::now_ns;
use crate::traffic::frame::{FLAG_PROBE, Frame, Phase};
use crate::traffic::schedule::{Schedule, probe_interval};

const LAG_MOST_NS: u64 = 60_000_000_000;

pub(super) struct Paced;

impl Mechanism for Paced {
    fn send(&self, job: &Job<'_>) -> anyhow::Result<Sendings> {
        let fps = job.params.intended_fps.context("paced without a rate")?;
        let probe_every = probe_interval(fps, job.params.probe_fps);
        let mut lanes: Vec<Lane<'_>> = job
            .streams
            .iter()
            .map(|stream| Lane::new(stream, job, probe_every))
            .collect();
        let mut lag = Histogram::<u64>::new_with_bounds(1, LAG_MOST_NS, 2)?;
        let mut counts = Vec::with_capacity(job.windows.len());
        for window in job.windows {
            lag.reset();
            let schedule = Schedule::new(window.start_ns, fps, lanes.len());
            for lane in &mut lanes {
                lane.begin(window.phase);
            }
            while now_ns() < window.start_ns {
                spin_loop();
            }
            send_window(&mut lanes, &schedule, window, job, &mut lag)?;
            counts.push(lanes.iter().map(|lane| lane.counts).collect());
        }
        Ok(Sendings {
            counts,
            lag: Some(Lag {
                p50: lag.value_at_quantile(0.5),
                p99: lag.value_at_quantile(0.99),
                max: lag.max(),
            }),
            aborted: job.abort.load(Relaxed),
        })
    }
}

fn send_window(
    lanes: &mut [Lane<'_>],
    schedule: &Schedule,
    window: &Window,
    job: &Job<'_>,
    lag: &mut Histogram<u64>,
) -> anyhow::Result<()> {
    loop {
        let mut idle = true;
        for (position, lane) in lanes.iter_mut().enumerate() {
            let now = now_ns();
            if now >= window.end_ns || job.abort.load(Relaxed) {
                return Ok(());
            }
            let departure = schedule.departure_ns(position, lane.sequence);
            if now < departure {
                continue;
            }
            idle = false;
            let due = schedule.due(position, lane.sequence, now);
            let sent = lane.send(due)?;
            lag.saturating_record_n(lane.last_ns.saturating_sub(departure), u64::from(sent));
        }
        if idle {
            spin_loop();
        }
    }
}

/// One stream's frames and where it stands in its sequence.
struct Lane<'a> {
    stream: &'a Stream,
    frame: Frame,
    batch: Batch,
    probe_every: u32,
    phase: Phase,
    sequence: u32,
    counts: Counts,
    last_ns: u64,
}

impl<'a> Lane<'a> {
    fn new(stream: &'a Stream, job: &Job<'_>, probe_every: u32) -> Self {
        let (addresses, number) = (&stream.params.addresses, stream.params.stream);
        let (bytes, trial) = (job.params.frame_bytes, job.params.trial);
        Self {
            stream,
            frame: Frame::new(addresses, bytes, trial, number),
            batch: Batch::new(addresses, bytes, trial, number),
            probe_every,
            phase: Phase::Probe,
            sequence: 0,
            counts: Counts::default(),
            last_ns: 0,
        }
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.sequence = 0;
        self.counts = Counts::default();
        self.batch.set_phase(phase);
    }

    /// Sends one frame, or up to `due` of them when behind; returns how many left.
    fn send(&mut self, due: u32) -> anyhow::Result<u32> {
        let to_probe = match self.sequence % self.probe_every {
            0 => 0,
            beyond => self.probe_every - beyond,
        };
        let outcome = if due > 1 && to_probe > 1 {
            let count = (due.min(to_probe) as usize).min(BATCH_FRAMES);
            self.last_ns = now_ns();
            self.batch.stamp(count, self.sequence, self.last_ns);
            self.stream.socket.send_batch(&mut self.batch, count)
        } else {
            let flags = if to_probe == 0 { FLAG_PROBE } else { 0 };
            self.frame.set_phase(self.phase, flags);
            self.last_ns = now_ns();
            self.frame.stamp(self.sequence, self.last_ns);
            self.stream.socket.send(self.frame.bytes())
        };
        let outcome =
            outcome.with_context(|| format!("sending on {}", self.stream.params.interface))?;
        Ok(self.counts.count(outcome, &mut self.sequence, self.last_ns))
    }
}

impl Counts {
    /// Counts what became of a send that began at `at_ns`; returns how many frames of the sequence it used up.
    #[inline]
    pub(super) fn count(&mut self, outcome: Sent, sequence: &mut u32, at_ns: u64) -> u32 {
        let frames = match outcome {
            Sent::Taken(frames) => frames,
            Sent::Blocked => {
                self.blocked += 1;
                return 0;
            }
            Sent::Refused => {
                self.send_errors += 1;
                1
            }
        };
        *sequence = sequence.wrapping_add(frames);
        self.frames_sent += u64::from(frames);
        if self.first_ns == 0 {
            self.first_ns = at_ns;
        }
        self.last_ns = at_ns;
        frames
    }
}
