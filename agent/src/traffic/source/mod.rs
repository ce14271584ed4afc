//! # Sources: streams of test frames
//!
//! `source.open` makes the ways out, `source.calibrate` tells how fast each is, `source.run` sends the phases of one trial by one of
//! them, `source.close` lets them go.

mod calibrate;
mod feed;
mod flood;
mod load;
mod paced;
mod params;
mod probes;
mod reply;
mod schedule;
mod stream;
mod variety;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::clock::now_ns;
use super::mechanism::Name;
use crate::Error;
use crate::cpu::{CpuLatency, ThreadTime, pin_this_thread};
use flood::Flood;
use load::{Load, Window};
use paced::Paced;
use params::{OpenParams, Pace, RunParams, StreamParams};
use reply::{OpenReply, PhaseReply, RunReply, StreamReply};
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
        let open = |(at, stream): (usize, &StreamParams)| {
            let same = |other: &&StreamParams| other.interface == stream.interface;
            let shared = params.streams.iter().filter(same).count() > 1;
            Stream::open(&format!("streams[{at}]"), stream, shared)
        };
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
        let least = self.streams.iter().map(Stream::least_frame_bytes).max();
        let pace = params.check(least.unwrap_or_default())?;
        for stream in &self.streams {
            stream.check(params.mechanism, &params.frame_bytes, params.flows)?;
        }
        let cpu = self.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        let mut streams: Vec<_> = self.streams.iter().map(StreamReply::of).collect();
        let mut load = self.load(pace, params);

        let latency = CpuLatency::hold();
        let thread = ThreadTime::of_this_thread().ok();
        let start_ns = now_ns();
        for phase in &params.phases {
            if abort.load(Ordering::Relaxed) {
                break;
            }
            let window = Window::starting_now(phase.phase, phase.duration());
            let tallies = load.send_phase(&window, abort)?;
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
            mechanism: params.mechanism,
            punctuality: load.punctuality(),
            thread: thread.and_then(|then| Some(ThreadTime::of_this_thread().ok()?.since(then))),
            streams,
        })
    }

    /// What every stream can use, and what at least one cannot.
    pub(crate) fn fitness(&self) -> OpenReply {
        let refusal = |&name: &Name| self.streams.iter().find_map(|stream| stream.refusal(name));
        let usable = |name: &Name| refusal(name).is_none();
        OpenReply {
            mechanisms: Name::ALL.into_iter().filter(usable).collect(),
            refused: Name::ALL.iter().filter_map(refusal).cloned().collect(),
        }
    }

    fn load(&mut self, pace: Pace, params: &RunParams) -> Box<dyn Load + '_> {
        let streams = self.streams.iter_mut();
        let (main, probes) = streams.map(|stream| stream.feeds(params)).unzip();
        match pace {
            Pace::Intended { fps } => {
                Box::new(Paced::new(main, fps, &params.frame_bytes, params.probe_fps))
            }
            Pace::Unlimited => Box::new(Flood::new(main, probes, params.probe_fps)),
        }
    }
}
