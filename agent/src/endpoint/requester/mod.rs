//! # The requester: it asks, and measures how long the answer takes
//!
//! One request is under way at a time. `requester.open` names the way, `requester.go` asks through a warm-up, which is discarded,
//! and then through what is measured, `requester.collect` tells of that.

mod exchange;
mod params;
mod tally;
mod wire;

use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use schemars::JsonSchema;
use serde::Serialize;

use self::exchange::Exchange;
pub(crate) use self::params::{RequesterGoParams, RequesterOpenParams};
pub(crate) use self::tally::RequesterCollectAnswer;
use self::tally::Tally;
use super::message::Id;
use super::socket;
use super::wait::await_time;
use crate::cpu::{CpuLatency, ThreadTime, pin_this_thread};
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::interface::Interface;

/// The way to a responder, and what the last run found there.
#[derive(Debug)]
pub(crate) struct Requester {
    params: RequesterOpenParams,
    interface: Interface,
    tally: Option<Tally>,
}

/// `requester.go`: that it is over. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RequesterGoAnswer {
    /// The start of what was measured, the warm-up left out, CLOCK_MONOTONIC in ns.
    start_ns: u64,
    /// The end, CLOCK_MONOTONIC in ns.
    end_ns: u64,
    /// Whether the CPUs were kept out of deep sleep.
    cpu_latency_held: bool,
    /// Whether it was aborted before its end.
    aborted: bool,
    /// The time of the asking thread; null where the kernel does not account for it.
    thread: Option<ThreadTime>,
}

impl Requester {
    /// Checks that the way can be taken; nothing is sent.
    pub(crate) fn open(params: &RequesterOpenParams) -> Result<Self, Error> {
        params.check()?;
        let interface = Interface::find("interface", &params.interface)?;
        let local = SocketAddrV4::new(params.local_address.get(), 0);
        socket::open(params.protocol, &interface, local, &params.options)?;
        Ok(Self {
            params: params.clone(),
            interface,
            tally: None,
        })
    }

    /// Asks from the calling thread. Setting `abort` ends it within milliseconds.
    pub(crate) fn go(
        &mut self,
        params: &RequesterGoParams,
        abort: &AtomicBool,
    ) -> Result<RequesterGoAnswer, Error> {
        params.check()?;
        self.tally = None;
        let cpu = self.params.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        let latency = CpuLatency::hold();
        let thread = ThreadTime::of_this_thread().ok();
        let mut exchange = Exchange::open(&self.params, &self.interface, abort)?;
        let mut tally = Tally::new(self.params.rps.is_some());
        let mut retransmissions_before = None;

        let begin_ns = now_ns();
        let start_ns = begin_ns + params.warmup_ns();
        let limit_ns = start_ns + params.duration_ns();
        for sequence in 0.. {
            let due_ns = match self.params.rps {
                // From the number itself, so that no rounding adds up.
                Some(rps) => begin_ns.saturating_add((sequence as f64 * 1e9 / rps.get()) as u64),
                None => now_ns(),
            };
            if due_ns >= limit_ns || tally.begun() >= params.most_transactions() {
                break;
            }
            await_time(due_ns, abort);
            if abort.load(Ordering::Relaxed) {
                break;
            }
            if due_ns >= start_ns {
                retransmissions_before =
                    retransmissions_before.or_else(|| exchange.retransmissions());
            }
            let trial = params.trial;
            let outcome = exchange.perform(Id { trial, sequence });
            if let Err(failure) = &outcome.result {
                await_time(failure.until_ns, abort);
                if abort.load(Ordering::Relaxed) {
                    break;
                }
            }
            if due_ns >= start_ns {
                tally.count(due_ns, &outcome);
            }
        }
        tally.retransmissions = exchange
            .retransmissions()
            .zip(retransmissions_before)
            .map(|(after, before)| after - before);
        self.tally = Some(tally);
        Ok(RequesterGoAnswer {
            start_ns,
            end_ns: now_ns(),
            cpu_latency_held: latency.is_some(),
            aborted: abort.load(Ordering::Relaxed),
            thread: thread.and_then(|then| Some(ThreadTime::of_this_thread().ok()?.since(then))),
        })
    }

    /// What the last run measured.
    pub(crate) fn collect(&self) -> Result<RequesterCollectAnswer, Error> {
        let tally = self.tally.as_ref();
        let tally =
            tally.ok_or_else(|| anyhow!("nothing was measured; call requester.go first"))?;
        Ok(tally.reply()?)
    }
}
