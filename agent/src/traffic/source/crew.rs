//! # The threads of a source, one on each of its CPUs
//!
//! All of them, and the probe lane beside a flood, send one phase together: it begins and ends for all at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use super::flood::Flood;
use super::generated::Generated;
use super::load::{Load, Part, Stop, Window};
use super::paced::Paced;
use super::params::{Pace, SourcePhase, SourceRunParams};
use super::probes::ProbeLane;
use super::reply::{ProcessTime, SourceThread};
use super::stream::Sending;
use super::switches::Switches;
use crate::cpu::{ThreadTime, pin_this_thread};
use crate::error::Error;
use crate::traffic::clock::{now_ns, sleep_until};
use crate::traffic::mechanism::Name;

/// Within this all threads of a phase have begun to wait for it.
const AHEAD: Duration = Duration::from_millis(1);
/// A thread looks at the clock without sleep for so long before a phase.
const WAKEFUL_NS: u64 = 200_000;

/// A CPU that one of the threads stays on.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) cpu: usize,
    /// None where the kernel refuses it.
    switches: Option<Switches>,
}

impl Seat {
    pub(super) fn on(cpu: usize) -> Self {
        Self {
            cpu,
            switches: Switches::of(cpu).ok(),
        }
    }

    fn pin_this_thread(&self) -> anyhow::Result<()> {
        let cpu = self.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))
    }
}

/// A thread's work, and what is known of its last phase.
struct Member<'a> {
    seat: &'a Seat,
    load: Box<dyn Load + 'a>,
    /// Whether the thread itself sends, and not the kernel.
    sends: bool,
    time: Option<ThreadTime>,
    others: Option<Vec<ProcessTime>>,
}

/// The threads of one run.
pub(super) struct Crew<'a> {
    members: Vec<Member<'a>>,
    /// Beside a flood.
    probes: Option<(&'a Seat, ProbeLane<'a>)>,
}

impl<'a> Crew<'a> {
    pub(super) fn of(
        seats: &'a [Seat],
        sending: Sending<'a>,
        pace: Pace,
        params: &SourceRunParams,
    ) -> Self {
        let probe_fps = params.probe_fps.get();
        let streams = sending.probes.len();
        let load = |strands| -> Box<dyn Load + 'a> {
            match pace {
                Pace::Intended { fps } => {
                    let paced = Paced::new(strands, streams, fps, &params.frame_bytes, probe_fps);
                    Box::new(paced.sharing_cpu(params.shares_cpu))
                }
                Pace::Unlimited => Box::new(Flood(strands)),
            }
        };
        let member = |seat, load| Member {
            seat,
            load,
            sends: params.mechanism != Name::Pktgen,
            time: None,
            others: None,
        };
        let seated = seats.iter().zip(sending.strands);
        let mut members: Vec<_> = seated
            .filter(|(_, strands)| !strands.is_empty())
            .map(|(seat, strands)| member(seat, load(strands)))
            .collect();
        if !sending.devices.is_empty() {
            let generated = Generated::new(sending.devices, params);
            members.push(member(&seats[0], Box::new(generated)));
        }
        let floods = pace == Pace::Unlimited;
        let lane = ProbeLane::new(sending.probes, probe_fps);
        Self {
            members,
            probes: floods.then_some((&seats[0], lane)),
        }
    }

    /// A phase that is about to begin: at once, but where threads have to find together.
    pub(super) fn window(&self, phase: &SourcePhase) -> Result<Window, Error> {
        let switches = self
            .members
            .iter()
            .filter_map(|member| member.seat.switches.as_ref());
        for switches in switches {
            switches.clear()?;
        }
        let ahead = if self.members.len() > 1 {
            AHEAD
        } else {
            Duration::ZERO
        };
        Ok(Window::starting_in(ahead, phase.phase, phase.duration()))
    }

    /// Sends one phase; the first of the threads is the calling one.
    pub(super) fn send_phase(
        &mut self,
        window: &mut Window,
        abort: &AtomicBool,
    ) -> Result<Vec<Part>, Error> {
        for member in &mut self.members {
            member.load.begin(window)?;
        }
        if let Some((_, lane)) = &mut self.probes {
            lane.begin(window)?;
        }
        let ended = AtomicBool::new(false);
        let stop = Stop::on(abort, &ended);
        let (first, rest) = (self.members.split_first_mut()).expect("a source has a stream");
        thread::scope(|scope| {
            let (window, ended) = (&*window, &ended);
            let mut sending: Vec<_> = rest
                .iter_mut()
                .map(|member| scope.spawn(move || member.send(window, stop, ended)))
                .collect();
            if let Some((seat, lane)) = &mut self.probes {
                sending.push(scope.spawn(move || {
                    let sent = seat.pin_this_thread().map_err(Error::from);
                    let sent = sent.and_then(|()| lane.send(window, stop));
                    ended.store(true, Ordering::Relaxed);
                    sent
                }));
            }
            let sent = first.send(window, stop, ended);
            let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
            let others: Vec<Result<(), Error>> = sending.into_iter().map(join).collect();
            others.into_iter().fold(sent, Result::and)
        })?;
        let mut parts = Vec::new();
        for member in &mut self.members {
            parts.extend(member.load.end(window)?);
        }
        if let Some((_, lane)) = &mut self.probes {
            parts.extend(lane.end(window)?);
        }
        Ok(parts)
    }

    /// What is known of each thread in the last phase.
    pub(super) fn threads(self) -> Vec<SourceThread> {
        let told = |member: Member<'_>| SourceThread {
            cpu: member.seat.cpu,
            punctuality: member.load.punctuality(),
            time: member.time,
            others: member.others,
        };
        self.members.into_iter().map(told).collect()
    }
}

impl Member<'_> {
    /// Sends a phase from the calling thread; when it is over for one, it is for all.
    fn send(&mut self, window: &Window, stop: Stop<'_>, ended: &AtomicBool) -> Result<(), Error> {
        let sent = self.try_send(window, stop);
        ended.store(true, Ordering::Relaxed);
        sent
    }

    fn try_send(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error> {
        self.seat.pin_this_thread()?;
        await_begin(window);
        let sends = self.sends;
        let thread_time = || ThreadTime::of_this_thread().ok().filter(|_| sends);
        let before = thread_time();
        self.load.send(window, stop)?;
        self.time = before.and_then(|before| Some(thread_time()?.since(before)));
        let had = self.seat.switches.as_ref().map(Switches::had);
        self.others = had.transpose()?;
        Ok(())
    }
}

/// Returns when the phase begins.
fn await_begin(window: &Window) {
    let awake_ns = window.start_ns.saturating_sub(WAKEFUL_NS);
    if now_ns() < awake_ns {
        sleep_until(awake_ns);
    }
    while now_ns() < window.start_ns {
        std::hint::spin_loop();
    }
}
