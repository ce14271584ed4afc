//! # Waiting for the last bytes of a trial, and the report

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use schemars::JsonSchema;
use serde::Serialize;

use super::flow::{ReceivedFlow, STEP_NS};
use super::ledger::{Ledger, ReceiverRefused, Shared};
use super::params::{ReceiverCollectParams, ReceiverSeriesParams};
use crate::endpoint::wait::LOOK_UP_NS;
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::sink::wire::Ended;

/// Steps of a series that fit into one reply, whatever they count.
const STEPS_AT_ONCE: usize = 3000;

/// `receiver.collect`: what came since `receiver.open`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ReceiverCollectAnswer {
    /// How long the wait for the last of them took, in ms.
    drain_ms: f64,
    /// What ended the wait.
    ended: Ended,
    /// The first arrival of any phase and flow, CLOCK_MONOTONIC: when who sends began, as it is seen here. The window and the series
    /// begin a warm-up later. Null where there was none.
    first_arrival_ns: Option<u64>,
    /// What entered the count of no flow.
    refused: ReceiverRefused,
    /// Datagrams that the kernel had no room for in the receiver's buffer. Null of connections, which make their senders wait.
    buffer_drops: Option<u32>,
    /// The flows, one entry each.
    flows: Vec<ReceivedFlow>,
}

/// `receiver.series`: bytes of one flow in each step since the window began.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ReceiverSeriesAnswer {
    /// The length of a step, in ms.
    step_ms: u64,
    /// How many steps there are in all.
    steps: usize,
    /// Bytes in each step from `first` on, as many steps as fit.
    bytes: Vec<u64>,
}

/// Waits until all flows are drained, or there is no more sense in waiting.
pub(super) fn collect(
    shared: &Shared,
    params: &ReceiverCollectParams,
    buffer_drops: impl FnOnce() -> anyhow::Result<Option<u32>>,
    abort: &AtomicBool,
) -> Result<ReceiverCollectAnswer, Error> {
    let begin_ns = now_ns();
    let mut ledger = shared.ledger();
    let ended = loop {
        if let Some(problem) = &ledger.problem {
            return Err(anyhow!("the receiver has ended ({problem}); open it again").into());
        }
        let now = now_ns();
        let last_ns = ledger.arrival_ns.unwrap_or(0).max(begin_ns);
        let quiet_ns = (last_ns + params.quiet_ms.get() * 1_000_000).saturating_sub(now);
        let limit_ns = (begin_ns + params.limit_ms.get() * 1_000_000).saturating_sub(now);
        if abort.load(Ordering::Relaxed) {
            break Ended::Aborted;
        } else if is_complete(&ledger, params) {
            break Ended::Complete;
        } else if quiet_ns == 0 {
            break Ended::Quiet;
        } else if limit_ns == 0 {
            break Ended::Limit;
        }
        let wait_ns = quiet_ns.min(limit_ns).min(LOOK_UP_NS);
        ledger = shared.await_end(ledger, Duration::from_nanos(wait_ns));
    };
    let flows =
        ledger.flows.iter().enumerate().map(|(number, flow)| {
            flow.reply(number, ledger.window_ns, expected_of(params, number))
        });
    Ok(ReceiverCollectAnswer {
        drain_ms: (now_ns() - begin_ns) as f64 / 1e6,
        ended,
        first_arrival_ns: ledger.first_arrival_ns,
        refused: ledger.refused,
        buffer_drops: buffer_drops()?,
        flows: flows.collect(),
    })
}

fn is_complete(ledger: &Ledger, params: &ReceiverCollectParams) -> bool {
    let mut flows = ledger.flows.iter().enumerate();
    flows.all(|(number, flow)| flow.is_over(expected_of(params, number)))
}

fn expected_of(params: &ReceiverCollectParams, flow: usize) -> Option<u64> {
    params.expected_messages.as_ref()?.get(flow).copied()
}

pub(super) fn series(
    shared: &Shared,
    params: &ReceiverSeriesParams,
) -> Result<ReceiverSeriesAnswer, Error> {
    let ledger = shared.ledger();
    let flow = ledger.flows.get(params.flow).ok_or_else(|| {
        let problem = format!(
            "{} is none of the {} flows",
            params.flow,
            ledger.flows.len()
        );
        Error::params("flow", problem)
    })?;
    let series = flow.series();
    let rest = series.get(params.first..).unwrap_or_default();
    Ok(ReceiverSeriesAnswer {
        step_ms: STEP_NS / 1_000_000,
        steps: series.len(),
        bytes: rest[..rest.len().min(STEPS_AT_ONCE)].to_vec(),
    })
}
