//! Waiting for the last frames of a trial, and the report on each stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Stream;
use super::histogram::latency;
use super::program::{LANE_EXTRA, LANE_MAIN, PHASE_MEASURE, PHASE_PROBE, PHASE_WARMUP, State};
use super::wire::{CollectParams, CollectedStream, Ended, PhaseFrames, Probes, Refused};

/// Fine enough for a drain time in milliseconds, coarse enough to leave the UUT its CPU.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Waits until all streams are drained, or there is no more sense in waiting.
pub(super) fn drain(
    streams: &[Stream],
    params: &CollectParams,
    abort: &AtomicBool,
) -> anyhow::Result<Ended> {
    let quiet = Duration::from_millis(params.quiet_ms);
    let start = Instant::now();
    let mut arrivals = None;
    let mut last_change = start;
    loop {
        let states = read(streams)?;
        let now = Instant::now();
        let count = Some(
            states
                .iter()
                .map(|(_, state)| arrivals_of(state))
                .sum::<u64>(),
        );
        if arrivals != count {
            arrivals = count;
            last_change = now;
        }
        if abort.load(Ordering::Relaxed) {
            return Ok(Ended::Aborted);
        } else if is_complete(&states, params) {
            return Ok(Ended::Complete);
        } else if now - last_change >= quiet {
            return Ok(Ended::Quiet);
        } else if now - start >= Duration::from_millis(params.limit_ms) {
            return Ok(Ended::Limit);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// What one stream received since it was armed.
pub(super) fn report(stream: &Stream) -> anyhow::Result<CollectedStream> {
    let state = stream.attached.memory.state()?;
    let main = state.lanes[LANE_MAIN];
    let extra = state.lanes[LANE_EXTRA];
    Ok(CollectedStream {
        stream: stream.number,
        attached: stream.attached.is_in_place(),
        phases: PhaseFrames {
            probe: state.frames[PHASE_PROBE],
            warmup: state.frames[PHASE_WARMUP],
            measure: state.frames[PHASE_MEASURE],
        },
        received: main.received,
        duplicated: main.duplicated,
        reordered: main.reordered,
        longest_run: main.longest_run,
        first_ns: (state.first_ns > 0).then_some(state.first_ns),
        last_ns: (state.last_ns > 0).then_some(state.last_ns),
        refused: Refused {
            length: state.refused_length,
            trial: state.refused_trial,
            stream: state.refused_stream,
            foreign: state.foreign,
        },
        probes: Probes {
            received: extra.received,
            duplicated: extra.duplicated,
        },
        latency: latency(&stream.attached.memory.delays()?)?,
    })
}

fn read(streams: &[Stream]) -> anyhow::Result<Vec<(u8, State)>> {
    streams
        .iter()
        .map(|stream| Ok((stream.number, stream.attached.memory.state()?)))
        .collect()
}

fn arrivals_of(state: &State) -> u64 {
    state
        .lanes
        .iter()
        .map(|lane| lane.received + lane.duplicated)
        .sum()
}

fn is_complete(states: &[(u8, State)], params: &CollectParams) -> bool {
    params.expected.iter().all(|expected| {
        states.iter().any(|(number, state)| {
            *number == expected.stream && state.lanes[LANE_MAIN].received >= expected.frames
        })
    })
}
