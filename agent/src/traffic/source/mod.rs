//! # Sources: streams of test frames
//!
//! `source.open` makes the ways out, `source.calibrate` tells how fast each is, `source.run` sends the phases of one trial by one of
//! them, `source.close` lets them go.

mod calibrate;
mod feed;
mod flood;
mod generated;
mod link;
mod load;
mod paced;
mod params;
mod pauses;
mod probes;
mod reply;
mod schedule;
mod stream;
mod switches;
mod variety;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::clock::now_ns;
use super::mechanism::Name;
use crate::cpu::{CpuLatency, ThreadTime, pin_this_thread};
use crate::error::Error;
use flood::Flood;
use generated::Generated;
use load::{Load, Window};
use paced::Paced;
use params::{Pace, Rates, SourceOpenParams, SourceRunParams};
use reply::{SentPhase, SentStream, SourceOpenAnswer, SourceRunAnswer};
use stream::{Parts, Stream};
use switches::Switches;

/// Streams that one thread serves.
#[derive(Debug)]
pub(crate) struct Source {
    cpu: usize,
    streams: Vec<Stream>,
    /// None where the kernel refuses it.
    switches: Option<Switches>,
}

impl Source {
    pub(crate) fn open(params: &SourceOpenParams) -> Result<Self, Error> {
        params.check()?;
        let streams = (0..params.streams.len()).map(|at| Stream::open(params, at));
        Ok(Self {
            cpu: params.cpu,
            streams: streams.collect::<Result<_, Error>>()?,
            switches: Switches::of(params.cpu).ok(),
        })
    }

    /// Sends the phases one after the other, from the calling thread. Setting `abort` ends the traffic within milliseconds.
    pub(crate) fn run(
        &mut self,
        params: &SourceRunParams,
        abort: &AtomicBool,
    ) -> Result<SourceRunAnswer, Error> {
        self.send(params, Rates::Kept, abort)
    }

    fn send(
        &mut self,
        params: &SourceRunParams,
        rates: Rates,
        abort: &AtomicBool,
    ) -> Result<SourceRunAnswer, Error> {
        let least = self.streams.iter().map(Stream::least_frame_bytes).max();
        let pace = params.check(least.unwrap_or_default())?;
        for stream in &self.streams {
            stream.check(params)?;
        }
        let cpu = self.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        let mut streams: Vec<_> = self
            .streams
            .iter()
            .map(|stream| SentStream::new(stream.number()))
            .collect();
        let mut load = load_of(&mut self.streams, pace, params, rates);

        let latency = CpuLatency::hold();
        let sends = params.mechanism != Name::Pktgen;
        let thread_time = || ThreadTime::of_this_thread().ok().filter(|_| sends);
        let (mut thread, mut others) = (None, None);
        let start_ns = now_ns();
        for phase in params.phases.iter() {
            if abort.load(Ordering::Relaxed) {
                break;
            }
            if let Some(switches) = &self.switches {
                switches.clear()?;
            }
            let before = thread_time();
            let mut window = Window::starting_now(phase.phase, phase.duration());
            let tallies = load.send_phase(&mut window, abort)?;
            let end_ns = window.ended_ns();
            thread = before.and_then(|before| Some(thread_time()?.since(before)));
            others = self.switches.as_ref().map(Switches::had).transpose()?;
            for (stream, tally) in streams.iter_mut().zip(tallies) {
                stream.phases.push(SentPhase {
                    phase: window.phase,
                    start_ns: window.start_ns,
                    end_ns,
                    tally,
                });
            }
        }
        Ok(SourceRunAnswer {
            start_ns,
            end_ns: now_ns(),
            cpu_latency_held: latency.is_some(),
            aborted: abort.load(Ordering::Relaxed),
            mechanism: params.mechanism,
            punctuality: load.punctuality(),
            thread,
            others,
            streams,
        })
    }

    /// What every stream can use, and what at least one cannot.
    pub(crate) fn fitness(&self) -> SourceOpenAnswer {
        let refusal = |&name: &Name| self.streams.iter().find_map(|stream| stream.refusal(name));
        let usable = |name: &Name| {
            self.streams
                .iter()
                .all(|stream| stream.way(*name).is_some())
        };
        SourceOpenAnswer {
            mechanisms: Name::ALL.into_iter().filter(usable).collect(),
            refused: Name::ALL.iter().filter_map(refusal).cloned().collect(),
        }
    }
}

fn load_of<'a>(
    streams: &'a mut [Stream],
    pace: Pace,
    params: &SourceRunParams,
    rates: Rates,
) -> Box<dyn Load + 'a> {
    let mut parts = Parts::default();
    for stream in streams {
        stream.join(params, rates, &mut parts);
    }
    let Parts {
        feeds,
        devices,
        probes,
    } = parts;
    let probe_fps = params.probe_fps.get();
    match pace {
        Pace::Intended { fps } => {
            let paced = Paced::new(feeds, fps, &params.frame_bytes, probe_fps);
            Box::new(paced.sharing_cpu(params.shares_cpu))
        }
        Pace::Unlimited if devices.is_empty() => Box::new(Flood::new(feeds, probes, probe_fps)),
        Pace::Unlimited => {
            let generated = Generated::new(devices, params);
            Box::new(Flood::new(generated, probes, probe_fps))
        }
    }
}
