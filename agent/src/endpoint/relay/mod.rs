//! # Relays: a message goes round a ring of processes (matthews2009, section 2)
//!
//! `relay.open` starts those relays of a ring that this agent has, each a process of its own, as the paper's are. The first of
//! them may be the master, which sends a message into the ring and keeps the time until that is back; the others pass it on.
//! `relay.go` makes one run, `relay.collect` tells of it, `relay.samples` what each iteration took.

mod forwarder;
mod hop;
mod master;
mod output;
mod params;
mod process;
mod sample;
mod serve;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use nix::poll::{PollFd, PollFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::params::RelayMode;
pub(crate) use self::params::{RelayGoParams, RelayOpenParams};
use self::process::Process;
use self::sample::{RelayStatus, Run};
use self::serve::Told;
pub use self::serve::serve;
use super::wait::{is_ready, wait};
use crate::cpu::CpuLatency;
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// Longest wait without a look at whether to end: rarely, since it wakes a CPU that is measured.
const LOOK_UP_NS: u64 = 100_000_000;
/// Samples in a reply, however long they are.
const CHUNK: usize = 1500;

/// The relays of this agent, and the master's last run.
#[derive(Debug)]
pub(crate) struct Relays {
    processes: Vec<Process>,
    has_master: bool,
    run: Option<Run>,
}

/// `relay.go`: that the run is over. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RelayGoAnswer {
    /// Before the first iteration, CLOCK_MONOTONIC in ns.
    start_ns: u64,
    /// After the last iteration, CLOCK_MONOTONIC in ns.
    end_ns: u64,
    /// Whether the CPUs were kept out of deep sleep.
    cpu_latency_held: bool,
    /// Whether it ended early, since nothing went round any more.
    given_up: bool,
}

/// `relay.collect`: of the master's last run, and of all relays since `relay.open`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RelayCollectAnswer {
    /// Iterations whose message came back; null where there was no run.
    completed: Option<usize>,
    /// Iterations whose message did not come back; null where there was no run.
    failed: Option<usize>,
    /// Why the last failed iteration failed; null where none did.
    last_problem: Option<String>,
    /// Messages that came to forwarders and were not passed on.
    refused: u64,
    /// Why the last message was not passed on; null where all were.
    last_refusal: Option<String>,
    /// How each relay that is gone has ended, with its last output.
    ended: Vec<String>,
}

/// `relay.samples`: from which iteration on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelaySamplesParams {
    /// The iteration to begin at, counted from 0.
    first: usize,
}

/// At most 1,500 samples of the last run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RelaySamplesAnswer {
    /// How many iterations the run has in all.
    iterations: usize,
    /// The time of each iteration from `first` on, in ns: until the message was back, or until it was known that it
    /// would not be.
    ns: Vec<u64>,
    /// Those of these iterations whose message did not come back, and how they ended.
    undone: Vec<(usize, RelayStatus)>,
}

/// `relay.close`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RelayCloseAnswer {
    /// What the master wrote to its standard output; null where it did not.
    output_bytes: Option<u64>,
}

impl Relays {
    /// Starts the relays; all of them listen when this returns. Nothing is sent.
    pub(crate) fn open(params: &RelayOpenParams) -> Result<Self, Error> {
        params.check()?;
        let mut processes = Vec::new();
        for relay in params.relays.iter() {
            processes.push(Process::start(relay)?);
        }
        Ok(Self {
            processes,
            has_master: params.relays[0].mode == RelayMode::Master,
            run: None,
        })
    }

    /// Has the master make a run. Setting `abort` ends it, and the relays, soon.
    pub(crate) fn go(
        &mut self,
        params: &RelayGoParams,
        abort: &AtomicBool,
    ) -> Result<RelayGoAnswer, Error> {
        self.run = None;
        if !self.has_master {
            return Err(anyhow!("no relay here is the master; ask where that is").into());
        }
        let latency = CpuLatency::hold();
        self.processes[0].tell(params)?;
        let run = self.await_run(abort)?;
        let reply = RelayGoAnswer {
            start_ns: run.start_ns,
            end_ns: run.end_ns,
            cpu_latency_held: latency.is_some(),
            given_up: run.given_up,
        };
        self.run = Some(run);
        Ok(reply)
    }

    /// Until the master tells of its run. An error where that or another relay ends before.
    fn await_run(&mut self, abort: &AtomicBool) -> Result<Run, Error> {
        loop {
            let mut watched: Vec<_> = self
                .processes
                .iter()
                .map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN))
                .collect();
            wait(&mut watched, Some(now_ns() + LOOK_UP_NS))
                .context("cannot wait for the relays")?;
            let ready: Vec<_> = watched.iter().map(is_ready).collect();
            if abort.load(Ordering::Relaxed) {
                self.processes.clear();
                self.has_master = false;
                return Err(anyhow!("the run was aborted, and the relays are closed").into());
            }
            for (process, is_ready) in self.processes.iter_mut().zip(ready) {
                if is_ready && let Some(Told::Ran(run)) = process.hear(now_ns())? {
                    return Ok(run);
                }
            }
        }
    }

    /// Until a relay has ended, or `abort` is set: `collect` tells which. For those whose master is elsewhere.
    pub(crate) fn watch(&mut self, abort: &AtomicBool) -> Result<(), Error> {
        while !abort.load(Ordering::Relaxed) {
            let mut watched: Vec<_> = self
                .processes
                .iter()
                .map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN))
                .collect();
            wait(&mut watched, Some(now_ns() + LOOK_UP_NS))
                .context("cannot wait for the relays")?;
            let found: Vec<_> = watched.iter().filter_map(PollFd::revents).collect();
            for (process, found) in self.processes.iter_mut().zip(found) {
                if found.contains(PollFlags::POLLHUP) {
                    process.settle();
                    return Ok(());
                }
                if !found.is_empty() {
                    // It tells of refusals only.
                    process.hear(0)?;
                }
            }
        }
        Ok(())
    }

    /// What the last run measured, and what became of the relays.
    pub(crate) fn collect(&mut self) -> Result<RelayCollectAnswer, Error> {
        let mut ended = Vec::new();
        for process in &mut self.processes {
            match process.ended() {
                Some(how) => ended.push(how),
                // It tells of refusals only.
                None => drop(process.hear(0)?),
            }
        }
        let refusals = self.processes.iter();
        let failed = self.run.as_ref().map(|run| run.undone.len());
        Ok(RelayCollectAnswer {
            completed: self.run.as_ref().map(|run| run.ns.len() - run.undone.len()),
            failed,
            last_problem: self.run.as_ref().and_then(|run| run.last_problem.clone()),
            refused: refusals.clone().map(|process| process.refused).sum(),
            last_refusal: refusals.rev().find_map(|it| it.last_refusal.clone()),
            ended,
        })
    }

    pub(crate) fn samples(&self, params: &RelaySamplesParams) -> Result<RelaySamplesAnswer, Error> {
        let run = self.run.as_ref();
        let run = run.ok_or_else(|| anyhow!("nothing was measured; call relay.go first"))?;
        let iterations = run.ns.len();
        if params.first > iterations {
            let problem = format!("{} is beyond the {iterations} iterations", params.first);
            return Err(Error::params("first", problem));
        }
        let end = iterations.min(params.first + CHUNK);
        let undone = run.undone.iter().copied();
        Ok(RelaySamplesAnswer {
            iterations,
            ns: run.ns[params.first..end].to_vec(),
            undone: undone
                .filter(|(iteration, _)| (params.first..end).contains(iteration))
                .collect(),
        })
    }

    /// Ends the relays.
    pub(crate) fn close(mut self) -> RelayCloseAnswer {
        let output_bytes = self.processes.first_mut().and_then(Process::end);
        RelayCloseAnswer { output_bytes }
    }
}
