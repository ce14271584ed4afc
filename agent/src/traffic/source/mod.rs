//! # Sources: streams of test frames
//!
//! `source.open` makes the ways out, `source.calibrate` tells how fast each is, `source.run` sends the phases of one trial by one of
//! them, `source.close` lets them go.

mod calibrate;
mod crew;
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

use super::clock::now_ns;
use super::mechanism::Name;
use super::strand::Strands;
use crate::cpu::CpuLatency;
use crate::error::Error;
use crew::{Crew, Seat};
use params::{Rates, SourceOpenParams, SourceRunParams};
use reply::{SentPhase, SentStream, SourceOpenAnswer, SourceRunAnswer};
use stream::{Sending, Stream};

/// Streams, and the CPUs whose threads send them.
#[derive(Debug)]
pub(crate) struct Source {
    seats: Vec<Seat>,
    strands: Strands,
    streams: Vec<Stream>,
}

impl Source {
    pub(crate) fn open(params: &SourceOpenParams) -> Result<Self, Error> {
        params.check()?;
        let streams = (0..params.streams.len()).map(|at| Stream::open(params, at));
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            seats: params.cpus.iter().map(|&cpu| Seat::on(cpu)).collect(),
            strands: params.strands,
            streams,
        })
    }

    /// Sends the phases one after the other; the calling thread is the first of those that send. Setting `abort` ends the traffic
    /// within milliseconds.
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
        let pace = params.check(least.unwrap_or_default(), self.strands)?;
        for stream in &self.streams {
            stream.check(params)?;
        }
        let params = &params.over(self.strands);
        let cpu_of = |thread: usize| self.seats[thread].cpu;
        let sent = self.streams.iter().map(|stream| SentStream {
            stream: stream.number(),
            cpus: stream.threads().map(cpu_of).collect(),
            phases: Vec::new(),
        });
        let mut streams: Vec<_> = sent.collect();
        let mut sending = Sending::by(self.seats.len());
        for stream in &mut self.streams {
            stream.join(params, rates, &mut sending);
        }
        let mut crew = Crew::of(&self.seats, sending, pace, params)?;

        let latency = CpuLatency::hold();
        let start_ns = now_ns();
        for phase in params.phases.iter() {
            if abort.load(Ordering::Relaxed) {
                break;
            }
            let mut window = crew.window(phase)?;
            let parts = crew.send_phase(&mut window, abort)?;
            for (place, stream) in streams.iter_mut().enumerate() {
                let mut sent = SentPhase::empty(&window, self.strands);
                let its = parts.iter().filter(|part| part.stream == place);
                its.for_each(|part| sent.add(part));
                stream.phases.push(sent);
            }
        }
        Ok(SourceRunAnswer {
            start_ns,
            end_ns: now_ns(),
            cpu_latency_held: latency.is_some(),
            aborted: abort.load(Ordering::Relaxed),
            mechanism: params.mechanism,
            threads: crew.threads(),
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
