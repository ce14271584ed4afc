//! # Sources: streams of test frames
//!
//! `source.open` makes the sockets, `source.run` sends the phases of one trial, `source.close` lets the sockets go.

mod feed;
mod flood;
mod mechanism;
mod paced;
mod params;
mod probes;
mod schedule;
mod socket;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};

use super::clock::now_ns;
use super::frame::{self, BEYOND_MTU_BYTES, Lane};
use crate::cpu::{CpuLatency, ThreadTime, pin_this_thread};
use crate::{Error, netdevice};
use feed::Feed;
use flood::Flood;
use mechanism::{Mechanism, Window};
use paced::Paced;
use params::{OpenParams, Pace, PhaseReply, RunParams, RunReply, StreamParams, StreamReply};
use socket::{PacketSocket, Queueing};

/// Streams that one thread serves.
#[derive(Debug)]
pub(crate) struct Source {
    cpu: usize,
    streams: Vec<Stream>,
}

/// A stream with its way out.
#[derive(Debug)]
struct Stream {
    params: StreamParams,
    main: PacketSocket,
    probes: PacketSocket,
}

impl Source {
    pub(crate) fn open(params: &OpenParams) -> Result<Self, Error> {
        params.check()?;
        let open = |(at, stream): (usize, &StreamParams)| {
            let interface = stream.interface.as_str();
            let index = nix::net::if_::if_nametoindex(interface).map_err(|errno| {
                let problem = format!(
                    "no `{interface}` in the agent's network namespace ({})",
                    errno.desc()
                );
                Error::params(format!("streams[{at}].interface"), problem)
            })?;
            let socket = |queueing| {
                PacketSocket::open(index, queueing).with_context(|| {
                    format!("cannot open a packet socket on {interface}; grant CAP_NET_RAW")
                })
            };
            Ok(Stream {
                params: stream.clone(),
                main: socket(Queueing::Qdisc)?,
                probes: socket(Queueing::Bypass)?,
            })
        };
        let streams = params.streams.iter().enumerate().map(open);
        Ok(Self {
            cpu: params.cpu,
            streams: streams.collect::<Result<_, Error>>()?,
        })
    }

    /// Sends the phases one after the other, from the calling thread. Setting `abort` ends the run within milliseconds.
    pub(crate) fn run(
        &mut self,
        params: &RunParams,
        abort: &AtomicBool,
    ) -> Result<RunReply, Error> {
        let pace = params.check()?;
        self.check_interfaces(params)?;
        let cpu = self.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        let mut mechanism = self.mechanism(pace, params);
        let mut streams: Vec<StreamReply> = self.streams.iter().map(Stream::reply).collect();

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
        let end_ns = now_ns();
        Ok(RunReply {
            start_ns,
            end_ns,
            cpu_latency_held: latency.is_some(),
            aborted: abort.load(Ordering::Relaxed),
            lag_ns: mechanism.lag(),
            thread: thread.and_then(|then| Some(ThreadTime::of_this_thread().ok()?.since(then))),
            streams,
        })
    }

    fn check_interfaces(&self, params: &RunParams) -> Result<(), Error> {
        for Stream { params: stream, .. } in &self.streams {
            let interface = stream.interface.as_str();
            let ask = || {
                Ok::<_, std::io::Error>((netdevice::is_up(interface)?, netdevice::mtu(interface)?))
            };
            let (is_up, mtu) = ask()
                .with_context(|| format!("cannot query {interface}; open the source again"))?;
            if !is_up {
                return Err(anyhow!("{interface} is down; set it up first").into());
            }
            let greatest = mtu as usize + BEYOND_MTU_BYTES;
            if params.frame_bytes > greatest {
                let problem =
                    format!("{interface} with MTU {mtu} takes frames up to {greatest} bytes");
                return Err(Error::params("frame_bytes", problem));
            }
        }
        Ok(())
    }

    fn mechanism(&self, pace: Pace, params: &RunParams) -> Box<dyn Mechanism + '_> {
        let feeds = |lane| {
            self.streams
                .iter()
                .map(|stream| stream.feed(lane, params))
                .collect()
        };
        match pace {
            Pace::Intended { fps } => {
                Box::new(Paced::new(feeds(Lane::Main), fps, params.probe_fps))
            }
            Pace::Unlimited => Box::new(Flood::new(
                feeds(Lane::Main),
                feeds(Lane::Probes),
                params.probe_fps,
            )),
        }
    }
}

impl Stream {
    fn feed(&self, lane: Lane, params: &RunParams) -> Feed<'_> {
        let socket = match lane {
            Lane::Main => &self.main,
            Lane::Probes => &self.probes,
        };
        let (endpoints, stream) = (self.params.endpoints(), self.params.stream);
        Feed::new(
            socket,
            &frame::build(&endpoints, params.trial, stream, lane, params.frame_bytes),
        )
    }

    fn reply(&self) -> StreamReply {
        StreamReply {
            stream: self.params.stream,
            phases: Vec::new(),
        }
    }
}
