//! Sources: one thread that sends the test frames of all streams, by the mechanism that a trial asks for.
//!
//! `open` binds to the interfaces, `run` sends one trial's phases and returns when they are over, `close` lets go.

mod batch;
mod flood;
mod paced;
mod socket;
pub mod wire;

use std::sync::atomic::AtomicBool;

use anyhow::Context;

use self::socket::FrameSocket;
use self::wire::{
    Counts, Lag, MechanismName, OpenParams, PhaseReply, RunParams, RunReply, StreamParams,
    StreamReply,
};
use super::Error;
use super::clock::{AwakeCpus, ThreadTime, now_ns, pin_this_thread};
use super::frame::{LEAST_BYTES, MOST_BYTES, Phase};

const STREAMS_MAX: usize = 8;
const PHASES_MAX: usize = 4;
const DURATION_MAX_S: f64 = 3600.0;
const FPS_MAX: f64 = 1e9;
/// Between the call and the first frame, so that the thread is warm when it begins.
const LEAD_NS: u64 = 1_000_000;

/// One phase on the clock.
#[derive(Clone, Copy, Debug)]
struct Window {
    phase: Phase,
    start_ns: u64,
    end_ns: u64,
}

/// What a mechanism is given: the trial, its windows, and a flag that ends it early.
struct Job<'a> {
    params: &'a RunParams,
    streams: &'a [Stream],
    windows: &'a [Window],
    cpu: usize,
    abort: &'a AtomicBool,
}

/// What a mechanism brings back: counts by phase and stream.
struct Sendings {
    counts: Vec<Vec<Counts>>,
    lag: Option<Lag>,
    aborted: bool,
}

/// A way of sending.
trait Mechanism {
    /// Sends every window's frames from this thread; an error is one that no send can get past.
    fn send(&self, job: &Job<'_>) -> anyhow::Result<Sendings>;
}

fn mechanism(name: MechanismName) -> &'static dyn Mechanism {
    match name {
        MechanismName::Paced => &paced::Paced,
        MechanismName::Flood => &flood::Flood,
    }
}

/// An open source.
#[derive(Debug)]
pub struct Source {
    cpu: usize,
    streams: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    params: StreamParams,
    socket: FrameSocket,
}

impl Source {
    /// Binds a socket to every stream's interface, or to none.
    pub fn open(params: OpenParams) -> Result<Self, Error> {
        if !(1..=STREAMS_MAX).contains(&params.streams.len()) {
            let problem = format!(
                "{} streams; allowed are 1 to {STREAMS_MAX}",
                params.streams.len()
            );
            return Err(Error::params("streams", problem));
        }
        let mut streams: Vec<Stream> = Vec::new();
        for (position, stream) in params.streams.into_iter().enumerate() {
            let field = |name| format!("streams[{position}].{name}");
            if stream.stream > 127 || streams.iter().any(|s| s.params.stream == stream.stream) {
                let problem = format!("{} is above 127 or given twice", stream.stream);
                return Err(Error::params(field("stream"), problem));
            }
            let socket = FrameSocket::bind(&field("interface"), &stream.interface)?;
            streams.push(Stream {
                params: stream,
                socket,
            });
        }
        Ok(Self {
            cpu: params.cpu,
            streams,
        })
    }

    /// Sends from the calling thread, which is bound to the source's CPU, until the phases are over or `abort` is set.
    pub fn run(&self, params: &RunParams, abort: &AtomicBool) -> Result<RunReply, Error> {
        check(params)?;
        pin_this_thread(&[self.cpu])
            .with_context(|| format!("binding the source to CPU {}", self.cpu))?;
        let awake = AwakeCpus::hold();
        let windows = windows(params, now_ns() + LEAD_NS);
        let before = ThreadTime::of_this_thread();
        let sendings = mechanism(params.mechanism).send(&Job {
            params,
            streams: &self.streams,
            windows: &windows,
            cpu: self.cpu,
            abort,
        })?;
        let thread = ThreadTime::of_this_thread().since(before);
        Ok(RunReply {
            start_ns: windows[0].start_ns,
            end_ns: now_ns(),
            cpu_latency_held: awake.is_some(),
            aborted: sendings.aborted,
            lag_ns: sendings.lag,
            thread,
            streams: self.replies(&windows, &sendings.counts),
        })
    }

    fn replies(&self, windows: &[Window], counts: &[Vec<Counts>]) -> Vec<StreamReply> {
        let of_stream = |position: usize| {
            windows
                .iter()
                .zip(counts)
                .map(|(window, counts)| PhaseReply {
                    phase: window.phase,
                    counts: counts[position],
                    start_ns: window.start_ns,
                    end_ns: window.end_ns,
                })
                .collect()
        };
        let numbers = self.streams.iter().map(|stream| stream.params.stream);
        numbers
            .enumerate()
            .map(|(position, stream)| StreamReply {
                stream,
                phases: of_stream(position),
            })
            .collect()
    }
}

fn windows(params: &RunParams, start_ns: u64) -> Vec<Window> {
    let mut at_ns = start_ns;
    let window = |phase: &wire::PhaseParams| {
        let start_ns = at_ns;
        at_ns += (phase.duration_s * 1e9) as u64;
        Window {
            phase: phase.phase,
            start_ns,
            end_ns: at_ns,
        }
    };
    params.phases.iter().map(window).collect()
}

fn check(params: &RunParams) -> Result<(), Error> {
    if !(LEAST_BYTES..=MOST_BYTES).contains(&params.frame_bytes) {
        let problem = format!(
            "{} is outside {LEAST_BYTES} to {MOST_BYTES}",
            params.frame_bytes
        );
        return Err(Error::params("frame_bytes", problem));
    }
    let paced = params.mechanism == MechanismName::Paced;
    let in_range = |fps: f64| fps > 0.0 && fps <= FPS_MAX;
    match params.intended_fps {
        Some(fps) if paced && in_range(fps) => {}
        None if !paced => {}
        _ => {
            let problem = "a number above 0 for paced, null for flood";
            return Err(Error::params("intended_fps", problem));
        }
    }
    if !in_range(params.probe_fps) {
        return Err(Error::params("probe_fps", "must be a number above 0"));
    }
    if !(1..=PHASES_MAX).contains(&params.phases.len()) {
        let problem = format!(
            "{} phases; allowed are 1 to {PHASES_MAX}",
            params.phases.len()
        );
        return Err(Error::params("phases", problem));
    }
    let total: f64 = params.phases.iter().map(|phase| phase.duration_s).sum();
    if params.phases.iter().any(|phase| phase.duration_s < 0.0) || total > DURATION_MAX_S {
        let problem =
            format!("durations must be 0 or more and {DURATION_MAX_S} s at most together");
        return Err(Error::params("phases", problem));
    }
    Ok(())
}
