//! # The sender: it sends in bulk to a receiver
//!
//! One thread serves all flows. `sender.open` connects them, `sender.go` sends through a warm-up and then through what is measured,
//! `sender.collect` tells of that. Each trial has connections of its own, whose end tells the receiver that all has come.

mod connect;
mod flow;
mod params;
mod plan;
mod sctp;
mod tcp;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use nix::poll::{PollFd, PollFlags};
use schemars::JsonSchema;
use serde::Serialize;

use self::connect::connect_all;
use self::flow::{Flow, SentFlow, Turn};
pub(crate) use self::params::SenderOpenParams;
use self::plan::Plan;
use super::run::GoParams;
use super::wait::{LOOK_UP_NS, has_failed, wait};
use crate::cpu::{ThreadTime, pin_this_thread};
use crate::error::Error;
use crate::traffic::clock::{now_ns, sleep_until};

/// Of the warm-up, after every flow's first turn: others that begin now may share this CPU, and would begin a whole slice of
/// the scheduler later behind each one that floods.
const PAUSE_NS: u64 = 5_000_000;

/// Flows that are connected, and what was sent on them.
#[derive(Debug)]
pub(crate) struct Sender {
    params: SenderOpenParams,
    /// Kept after a run until they are closed: the kernel may still hold what was sent last.
    flows: Vec<Flow>,
    message: Vec<u8>,
    sent: Option<SenderCollectAnswer>,
}

/// `sender.go`: that it is over. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SenderGoAnswer {
    /// The start of what was measured, the warm-up left out, CLOCK_MONOTONIC in ns.
    start_ns: u64,
    /// The end, CLOCK_MONOTONIC in ns.
    end_ns: u64,
    /// Whether it was aborted before its end.
    aborted: bool,
    /// Flows that broke off; `sender.collect` reports why.
    broken: usize,
    /// The time of the sending thread; null where the kernel does not account for it.
    thread: Option<ThreadTime>,
}

/// `sender.collect`: what was handed to the kernel in the measured window.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SenderCollectAnswer {
    /// The flows, one entry each.
    flows: Vec<SentFlow>,
}

impl Sender {
    /// Connects all flows; nothing is sent on them. Setting `abort` ends the wait within milliseconds.
    pub(crate) fn open(params: &SenderOpenParams, abort: &AtomicBool) -> Result<Self, Error> {
        params.check()?;
        Ok(Self {
            flows: connect_all(params, abort)?,
            message: vec![0; params.message_bytes.get()],
            params: params.clone(),
            sent: None,
        })
    }

    /// Sends from the calling thread. Setting `abort` ends it within milliseconds, and takes back what the kernel still holds.
    pub(crate) fn go(
        &mut self,
        params: &GoParams,
        abort: &AtomicBool,
    ) -> Result<SenderGoAnswer, Error> {
        params.check()?;
        if self.sent.is_some() {
            return Err(anyhow!("this sender has sent; call sender.open for another trial").into());
        }
        let cpu = self.params.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        let thread = ThreadTime::of_this_thread().ok();
        let plan = Plan {
            trial: params.trial,
            times: params.times(params.await_begin(abort)),
            interval_ns: self.params.interval_ns(),
            flows: self.flows.len(),
        };
        self.send(&plan, abort)
            .context("cannot wait for room to send")?;
        let aborted = abort.load(Ordering::Relaxed);
        let flows = self.flows.iter_mut().map(|flow| flow.finish(aborted));
        self.sent = Some(SenderCollectAnswer {
            flows: flows.collect(),
        });
        let reply = SenderGoAnswer {
            start_ns: plan.times.start_ns,
            end_ns: now_ns().min(plan.times.end_ns),
            aborted,
            broken: self.flows.iter().filter(|flow| flow.is_broken()).count(),
            thread: thread.and_then(|then| Some(ThreadTime::of_this_thread().ok()?.since(then))),
        };
        if aborted {
            self.flows.clear();
        }
        Ok(reply)
    }

    /// What the run sent.
    pub(crate) fn collect(&self) -> Result<SenderCollectAnswer, Error> {
        let sent = self.sent.as_ref();
        Ok(sent
            .cloned()
            .ok_or_else(|| anyhow!("nothing was sent; call sender.go first"))?)
    }

    /// Sends until the window's end, until all flows are broken, or until aborted.
    fn send(&mut self, plan: &Plan, abort: &AtomicBool) -> nix::Result<()> {
        let times = plan.times;
        let (mut is_begun, mut is_started) = (false, false);
        let mut blocked = Vec::with_capacity(self.flows.len());
        loop {
            let now = now_ns();
            if !is_started && now >= times.start_ns {
                self.flows.iter_mut().for_each(Flow::start);
                is_started = true;
            }
            if now >= times.end_ns || abort.load(Ordering::Relaxed) {
                return Ok(());
            }
            blocked.clear();
            let mut until_ns = (now + LOOK_UP_NS).min(times.end_ns);
            if !is_started {
                until_ns = until_ns.min(times.start_ns);
            }
            let mut may_wait = true;
            for (number, flow) in self.flows.iter_mut().enumerate() {
                match flow.take_turn(plan, &mut self.message) {
                    Turn::Nothing => may_wait = false,
                    Turn::Room => blocked.push(number),
                    Turn::Time(due_ns) => until_ns = until_ns.min(due_ns),
                    Turn::Over => {}
                }
            }
            if self.flows.iter().all(Flow::is_broken) {
                return Ok(());
            }
            if !is_begun {
                sleep_until((times.begin_ns + PAUSE_NS).min(times.start_ns));
                is_begun = true;
            }
            if may_wait {
                self.await_room(&blocked, until_ns)?;
            }
        }
    }

    fn await_room(&self, blocked: &[usize], until_ns: u64) -> nix::Result<()> {
        let watched = blocked.iter().map(|&number| self.flows[number].as_fd());
        let mut watched: Vec<_> = watched
            .map(|socket| PollFd::new(socket, PollFlags::POLLOUT))
            .collect();
        wait(&mut watched, Some(until_ns))?;
        for (&number, socket) in blocked.iter().zip(&watched) {
            if has_failed(socket) {
                self.flows[number].forget_errors();
            }
        }
        Ok(())
    }
}
