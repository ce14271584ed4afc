//! The counting sink: a BPF program at the interface where a stream leaves the UUT.
//!
//! It checks, counts and drops test frames before the kernel sees them; nothing is copied to user
//! space but, where that is asked for, the first frames. Life of a sink: `open` attaches, `arm` zeroes and names the trial, `collect` waits for
//! the last frames and reports, `close` detaches.

mod attach;
mod capture;
mod clock;
mod collect;
mod cost;
mod delivery;
pub(super) mod frame;
pub(crate) mod histogram;
mod program;
#[cfg(test)]
mod tests;
pub mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use self::attach::Attached;
use self::capture::Capture;
use self::delivery::Delivery;
use self::program::Armed;
use self::wire::{
    AttachedStream, SinkArmParams, SinkCaptureAnswer, SinkCaptureParams, SinkCollectAnswer,
    SinkCollectParams, SinkHistogramsAnswer, SinkHistogramsParams, SinkOpenAnswer, SinkOpenParams,
};
use super::bpf::await_running_programs;
use super::interface::Interface;
use crate::api::bounds;
use crate::api::values::{check_count, check_whole};
use crate::error::Error;

const FRAME_BYTES: std::ops::RangeInclusive<usize> =
    bounds::LEAST_FRAME_BYTES as usize..=bounds::GREATEST_FRAME_BYTES as usize;

/// Attached sinks, one for each stream. Dropping it detaches them all.
#[derive(Debug)]
pub struct Sink {
    streams: Vec<Stream>,
    armed: bool,
}

#[derive(Debug)]
struct Stream {
    number: u8,
    attached: Attached,
}

impl Sink {
    /// Attaches to every stream's interface, or to none. Test frames are refused until `arm`.
    pub fn open(params: &SinkOpenParams) -> Result<(Self, SinkOpenAnswer), Error> {
        check_pairs(params)?;
        let capture = Capture::asked(params)?;
        let mut streams = Vec::new();
        for (position, pair) in params.streams.iter().enumerate() {
            let interface =
                Interface::find(&format!("streams[{position}].interface"), &pair.interface)?;
            let attached = Attached::new(&interface, params.attach, capture)?;
            streams.push(Stream {
                number: pair.stream,
                attached,
            });
        }
        let reply = SinkOpenAnswer {
            streams: streams
                .iter()
                .map(|s| AttachedStream {
                    stream: s.number,
                    attached: s.attached.mode,
                    fallback: s.attached.fallback.clone(),
                })
                .collect(),
            cost: streams[0].attached.cost,
        };
        Ok((
            Self {
                streams,
                armed: false,
            },
            reply,
        ))
    }

    /// Zeroes all counts; from here on, frames of this trial and these lengths are counted, those of
    /// `phase` analysed.
    pub fn arm(&mut self, params: &SinkArmParams) -> Result<(), Error> {
        params.frame_bytes.check(FRAME_BYTES)?;
        if params.probe_interval == 0 {
            return Err(Error::params("probe_interval", "must be at least 1"));
        }
        let mut ahead_ns = BTreeMap::new();
        for (position, clock) in params.clocks.iter().enumerate() {
            let field = format!("clocks[{position}].stream");
            self.stream(&field, clock.stream)?;
            if ahead_ns.insert(clock.stream, clock.ahead_ns).is_some() {
                let problem = format!("stream {} is named twice", clock.stream);
                return Err(Error::params(field, problem));
            }
        }
        let namespace_ns = clock::namespace_offset_ns();
        self.armed = false;
        for stream in &self.streams {
            stream.attached.memory.disarm()?;
        }
        if self
            .streams
            .iter()
            .any(|stream| stream.attached.delivery == Delivery::Serialised)
        {
            await_running_programs()?; // elsewhere disarming waited, for the program's lock
        }
        for stream in &self.streams {
            stream.attached.memory.arm(Armed {
                trial: params.trial,
                stream: stream.number,
                phase: params.phase,
                frame_bytes: params.frame_bytes.distinct(),
                strands: params.strands,
                probe_interval: params.probe_interval,
                gaps: params.gaps,
                clock_ahead_ns: ahead_ns
                    .get(&stream.number)
                    .copied()
                    .unwrap_or_default()
                    .saturating_sub(namespace_ns),
            })?;
        }
        self.armed = true;
        Ok(())
    }

    /// Waits for the last frames and reports. Setting `abort` ends the wait at once. Counting goes
    /// on until `arm` or `close`.
    pub fn collect(
        &self,
        params: &SinkCollectParams,
        abort: &AtomicBool,
    ) -> Result<SinkCollectAnswer, Error> {
        self.check_collect(params)?;
        let start = Instant::now();
        let ended = collect::drain(&self.streams, params, abort)?;
        let drain_ms = start.elapsed().as_secs_f64() * 1e3;
        let report = |stream| collect::report(stream, &params.expected);
        let streams = self.streams.iter().map(report);
        let streams = streams.collect::<anyhow::Result<_>>()?;
        Ok(SinkCollectAnswer {
            drain_ms,
            ended,
            streams,
        })
    }

    /// What one stream's frames told of time since `arm`, beside the delays that `collect` reports.
    pub fn histograms(&self, params: &SinkHistogramsParams) -> Result<SinkHistogramsAnswer, Error> {
        Ok(collect::histograms(self.stream("stream", params.stream)?)?)
    }

    /// The first frames that one stream brought since `arm`.
    pub fn capture(&self, params: &SinkCaptureParams) -> Result<SinkCaptureAnswer, Error> {
        let memory = &self.stream("stream", params.stream)?.attached.memory;
        let captured = memory.state()?.captured;
        Ok(memory.captures.read(params.first, captured)?)
    }

    /// Detaches everything; reports the first interface where that failed.
    pub fn close(self) -> Result<(), Error> {
        let results: Vec<_> = self
            .streams
            .into_iter()
            .map(|stream| stream.attached.detach())
            .collect();
        results
            .into_iter()
            .collect::<anyhow::Result<()>>()
            .map_err(Error::from)
    }

    fn stream(&self, field: &str, number: u8) -> Result<&Stream, Error> {
        self.streams
            .iter()
            .find(|stream| stream.number == number)
            .ok_or_else(|| Error::params(field, format!("stream {number} was not opened")))
    }

    fn check_collect(&self, params: &SinkCollectParams) -> Result<(), Error> {
        if !self.armed {
            return Err(anyhow::anyhow!(
                "the sink is not armed: call sink.arm before sink.collect"
            )
            .into());
        }
        check_whole("limit_ms", params.limit_ms, 0..=bounds::LONGEST_DRAIN_MS)?;
        let mut seen = BTreeSet::new();
        for (position, expected) in params.expected.iter().enumerate() {
            let field = format!("expected[{position}].stream");
            let opened = self.stream(&field, expected.stream)?;
            let strands = opened.attached.memory.state()?.strands().len();
            if expected.strand_frames.len() != strands {
                let (field, given) = (
                    format!("expected[{position}].strand_frames"),
                    expected.strand_frames.len(),
                );
                let problem = format!("{given} of them; {strands} strands are awaited");
                return Err(Error::params(field, problem));
            }
            if !seen.insert(expected.stream) {
                return Err(Error::params(
                    field,
                    format!("stream {} is named twice", expected.stream),
                ));
            }
        }
        Ok(())
    }
}

fn check_pairs(params: &SinkOpenParams) -> Result<(), Error> {
    check_count("streams", params.streams.len(), 1..=bounds::MOST_STREAMS)?;
    let mut numbers = BTreeSet::new();
    let mut interfaces = BTreeSet::new();
    for (position, pair) in params.streams.iter().enumerate() {
        check_whole(
            &format!("streams[{position}].stream"),
            pair.stream,
            0..=bounds::GREATEST_STREAM,
        )?;
        if !numbers.insert(pair.stream) {
            let problem = format!("stream {} is named twice", pair.stream);
            return Err(Error::params(
                format!("streams[{position}].stream"),
                problem,
            ));
        }
        if !interfaces.insert(&pair.interface) {
            let problem = format!("`{}` already receives another stream", pair.interface);
            return Err(Error::params(
                format!("streams[{position}].interface"),
                problem,
            ));
        }
    }
    Ok(())
}
