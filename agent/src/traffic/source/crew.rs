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

/// Within this each thread has begun to wait for a phase.
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

/// What a thread of the crew does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// Sends strands.
    Sends,
    /// Waits for the end of what the kernel sends.
    Waits,
    /// Sends probes beside; nothing is told of it.
    Probes,
}

/// A thread's work, and what is known of its last phase.
struct Member<'a> {
    seat: &'a Seat,
    duty: Duty,
    load: Box<dyn Load + 'a>,
    /// Its time when it was ready for the phase.
    before: Option<ThreadTime>,
    time: Option<ThreadTime>,
    others: Option<Vec<ProcessTime>>,
}

impl<'a> Member<'a> {
    fn new(seat: &'a Seat, duty: Duty, load: impl Load + 'a) -> Self {
        Self {
            seat,
            duty,
            load: Box::new(load),
            before: None,
            time: None,
            others: None,
        }
    }
}

/// The threads of one run, of which the first is the calling one.
pub(super) struct Crew<'a>(Vec<Member<'a>>);

impl<'a> Crew<'a> {
    /// Has the calling thread take its seat as well.
    pub(super) fn of(
        seats: &'a [Seat],
        sending: Sending<'a>,
        pace: Pace,
        params: &SourceRunParams,
    ) -> anyhow::Result<Self> {
        let probe_fps = params.probe_fps.get();
        let streams = sending.probes.len();
        let seated = seats.iter().zip(sending.strands);
        let seated = seated.filter(|(_, strands)| !strands.is_empty());
        let mut members: Vec<_> = seated
            .map(|(seat, strands)| match pace {
                Pace::Intended { fps } => {
                    let paced = Paced::new(strands, streams, fps, &params.frame_bytes, probe_fps);
                    Member::new(seat, Duty::Sends, paced.sharing_cpu(params.shares_cpu))
                }
                Pace::Unlimited => Member::new(seat, Duty::Sends, Flood(strands)),
            })
            .collect();
        let by_kernel = !sending.devices.is_empty();
        if by_kernel {
            let generated = Generated::new(sending.devices, params);
            members.push(Member::new(&seats[0], Duty::Waits, generated));
        }
        if by_kernel || pace == Pace::Unlimited {
            let lane = ProbeLane::new(sending.probes, probe_fps);
            members.push(Member::new(&seats[0], Duty::Probes, lane));
        }
        members[0].seat.pin_this_thread()?;
        Ok(Self(members))
    }

    /// A phase that is about to begin: at once, but where threads have to find together.
    pub(super) fn window(&mut self, phase: &SourcePhase) -> Result<Window, Error> {
        let mut sending = 0;
        for member in &self.0 {
            sending += u32::from(member.duty == Duty::Sends);
            if let Some(switches) = &member.seat.switches {
                switches.clear()?;
            }
        }
        let ahead = AHEAD * sending.saturating_sub(1);
        self.0[0].get_ready();
        Ok(Window::starting_in(ahead, phase.phase, phase.duration()))
    }

    /// Sends one phase; when it is over for one of its threads, it is for all.
    pub(super) fn send_phase(
        &mut self,
        window: &mut Window,
        abort: &AtomicBool,
    ) -> Result<Vec<Part>, Error> {
        for member in &mut self.0 {
            member.load.begin(window)?;
        }
        let ended = &AtomicBool::new(false);
        let stop = Stop::on(abort, ended);
        let (first, rest) = (self.0.split_first_mut()).expect("a source has a stream");
        thread::scope(|scope| {
            let window = &*window;
            let end = |sent: Result<(), Error>| {
                ended.store(true, Ordering::Relaxed);
                sent
            };
            let rest: Vec<_> = rest
                .iter_mut()
                .map(|member| scope.spawn(move || end(member.join(window, stop))))
                .collect();
            let sent = end(first.send(window, stop));
            let sent_by =
                |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
            let rest: Vec<_> = rest.into_iter().map(sent_by).collect();
            rest.into_iter().fold(sent, Result::and)
        })?;
        let mut parts = Vec::new();
        for member in &mut self.0 {
            parts.extend(member.load.end(window)?);
        }
        Ok(parts)
    }

    /// What is known of each thread in the last phase.
    pub(super) fn threads(self) -> Vec<SourceThread> {
        let told = self.0.into_iter();
        told.filter(|member| member.duty != Duty::Probes)
            .map(|member| SourceThread {
                cpu: member.seat.cpu,
                punctuality: member.load.punctuality(),
                time: member.time,
                others: member.others,
            })
            .collect()
    }
}

impl Member<'_> {
    /// Sends a phase from a new thread.
    fn join(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error> {
        self.seat.pin_this_thread()?;
        self.get_ready();
        self.send(window, stop)
    }

    /// Looks at the calling thread's time, shortly before a phase.
    fn get_ready(&mut self) {
        let sends = self.duty == Duty::Sends;
        self.before = ThreadTime::of_this_thread().ok().filter(|_| sends);
    }

    /// Sends a phase from the calling thread, once it begins.
    fn send(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error> {
        await_begin(window);
        self.load.send(window, stop)?;
        let since = |before| Some(ThreadTime::of_this_thread().ok()?.since(before));
        self.time = self.before.and_then(since);
        if self.duty != Duty::Probes {
            let had = self.seat.switches.as_ref().map(Switches::had);
            self.others = had.transpose()?;
        }
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
