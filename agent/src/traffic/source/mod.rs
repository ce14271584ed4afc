//! # Sources: streams of test frames
//!
//! `source.open` makes the sockets, `source.run` sends the phases of one trial, `source.close` lets the sockets go.

mod feed;
mod flood;
mod mechanism;
mod paced;
mod params;
mod probes;
mod reply;
mod schedule;
mod socket;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::clock::now_ns;
use super::frame::Lane;
use crate::Error;
use crate::cpu::{CpuLatency, ThreadTime, pin_this_thread};
use flood::Flood;
use mechanism::{Mechanism, Window};
use paced::Paced;
use params::{OpenParams, Pace, RunParams};
use reply::{PhaseReply, RunReply, StreamReply};
use stream::Stream;

/// Streams that one thread serves.
#[derive(Debug)]
pub(crate) struct Source {
    cpu: usize,
    streams: Vec<Stream>,
}

impl Source {
    pub(crate) fn open(params: &OpenParams) -> Result<Self, Error> {
        params.check()?;
        let streams = params.streams.iter().enumerate();
        let open = |(at, stream)| Stream::open(&format!("streams[{at}]"), stream);
        Ok(Self {
            cpu: params.cpu,
            streams: streams.map(open).collect::<Result<_, Error>>()?,
        })
    }

    /// Sends the phases one after the other, from the calling thread. Setting `abort` ends the run within milliseconds.
    pub(crate) fn run(
        &mut self,
        params: &RunParams,
        abort: &AtomicBool,
    ) -> Result<RunReply, Error> {
        let pace = params.check()?;
        for stream in &self.streams {
            stream.check_frame_bytes(params.frame_bytes)?;
        }
        let cpu = self.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        let mut mechanism = self.mechanism(pace, params);
        let mut streams: Vec<_> = self.streams.iter().map(StreamReply::of).collect();

        let latency = CpuLatency::hold();
        let thread = ThreadTime::of_this_thread().ok();
        let start_ns = now_ns();
        for phase in &params.phases {
            if abort.load(Ordering::Relaxed) {
                break;
            }
            let window = Window::starting_now(phase.phase, phase.duration());
            let tallies = mechanism.send_phase(&window, abort)?;
            let end_ns = window.end_ns.min(now_ns());
            for (stream, tally) in streams.iter_mut().zip(tallies) {
                stream.phases.push(PhaseReply {
                    phase: window.phase,
                    start_ns: window.start_ns,
                    end_ns,
                    tally,
                });
            }
        }
        Ok(RunReply {
            start_ns,
            end_ns: now_ns(),
            cpu_latency_held: latency.is_some(),
            aborted: abort.load(Ordering::Relaxed),
            lag_ns: mechanism.lag(),
            thread: thread.and_then(|then| Some(ThreadTime::of_this_thread().ok()?.since(then))),
            streams,
        })
    }

    fn mechanism(&self, pace: Pace, params: &RunParams) -> Box<dyn Mechanism + '_> {
        let feeds = |lane| {
            let streams = self.streams.iter();
            streams
                .map(|stream| stream.feed(lane, params.trial, params.frame_bytes))
                .collect()
        };
        let main = feeds(Lane::Main);
        match pace {
            Pace::Intended { fps } => Box::new(Paced::new(main, fps, params.probe_fps)),
            Pace::Unlimited => Box::new(Flood::new(main, feeds(Lane::Probes), params.probe_fps)),
        }
    }
}
