//! Waiting for the last frames of a trial, and the report on each stream.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Stream;
use super::histogram::durations;
use super::program::{LANE_EXTRA, Lane, PHASE_MEASURE, PHASE_PROBE, PHASE_WARMUP, State};
use super::wire::{
    CollectedStream, Ended, ExpectedStream, PhaseFrames, Reordering, SinkCollectParams,
    SinkHistogramsAnswer, SinkLoss, SinkProbes, SinkRefused,
};

/// Fine enough for a drain time in milliseconds, coarse enough to leave the UUT its CPU.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Waits until all streams are drained, or there is no more sense in waiting.
pub(super) fn drain(
    streams: &[Stream],
    params: &SinkCollectParams,
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

/// What one stream received since it was armed, which may be among those that were expected.
pub(super) fn report(
    stream: &Stream,
    expected: &[ExpectedStream],
) -> anyhow::Result<CollectedStream> {
    let state = stream.attached.memory.state()?;
    let expected = (expected.iter()).find(|expected| expected.stream == stream.number);
    let sent = expected.map_or(&[][..], |expected| &expected.strand_frames);
    let strands = state.strands();
    let sum = |of: fn(&Lane) -> u64| strands.iter().map(of).sum();
    let extra = state.lanes[LANE_EXTRA];
    Ok(CollectedStream {
        stream: stream.number,
        attached: stream.attached.is_in_place(),
        phases: PhaseFrames {
            probe: state.frames[PHASE_PROBE],
            warmup: state.frames[PHASE_WARMUP],
            measure: state.frames[PHASE_MEASURE],
        },
        received: state.received(),
        received_bytes: sum(|lane| lane.bytes),
        duplicated: sum(|lane| lane.duplicated),
        reordered: sum(|lane| lane.reordered),
        reordering: reordering(strands),
        loss: loss(strands, sent),
        longest_run: (strands.iter().map(|lane| lane.longest_run).max()).unwrap_or_default(),
        first_ns: (state.first_ns > 0).then_some(state.first_ns),
        last_ns: (state.last_ns > 0).then_some(state.last_ns),
        refused: SinkRefused {
            length: state.refused_length,
            trial: state.refused_trial,
            stream: state.refused_stream,
            foreign: state.foreign,
        },
        probes: SinkProbes {
            received: extra.received,
            duplicated: extra.duplicated,
        },
        latency: durations(&stream.attached.memory.histograms()?.delay.buckets)?,
    })
}

/// What else one stream's frames told of time since it was armed.
pub(super) fn histograms(stream: &Stream) -> anyhow::Result<SinkHistogramsAnswer> {
    let histograms = stream.attached.memory.histograms()?;
    Ok(SinkHistogramsAnswer {
        ipdv_positive: durations(&histograms.ipdv_positive.buckets)?,
        ipdv_negative: durations(&histograms.ipdv_negative.buckets)?,
        gap: durations(&histograms.gap.buckets)?,
        since_departure: durations(&histograms.since_departure.buckets)?,
        lateness: durations(&histograms.lateness.buckets)?,
    })
}

fn reordering(strands: &[Lane]) -> Reordering {
    let sum = |of: fn(&Lane) -> u64| strands.iter().map(of).sum::<u64>();
    let reordered = sum(|lane| lane.reordered);
    let greatest = strands.iter().map(|lane| lane.extent_max).max();
    Reordering {
        extent_mean: (reordered > 0).then(|| sum(|lane| lane.extent_sum) as f64 / reordered as f64),
        extent_max: greatest.filter(|_| reordered > 0),
        extents_cut: sum(|lane| lane.extents_cut),
        displaced: sum(|lane| lane.displaced),
    }
}

/// Beside the gaps in what came, the last frames that were sent of a strand are a period where none of them did.
fn loss(strands: &[Lane], sent: &[u64]) -> SinkLoss {
    let sent = sent.iter().copied().chain(iter::repeat(0));
    let missing = |(lane, sent): (&Lane, u64)| sent.saturating_sub(lane.next_expected);
    let last: Vec<_> = strands.iter().zip(sent).map(missing).collect();
    let gaps = strands.iter().map(|lane| lane.longest_gap);
    let in_order = strands.iter().all(|lane| lane.reordered == 0);
    let periods = strands.iter().map(|lane| lane.loss_periods).sum::<u64>();
    SinkLoss {
        periods: periods + last.iter().filter(|&&frames| frames > 0).count() as u64,
        longest: (gaps.chain(last).max()).filter(|_| in_order),
    }
}

fn read(streams: &[Stream]) -> anyhow::Result<Vec<(u8, State)>> {
    streams
        .iter()
        .map(|stream| Ok((stream.number, stream.attached.memory.state()?)))
        .collect()
}

/// Test frames that came, of whatever trial or phase: a queue that still gives out earlier ones holds the awaited behind them.
fn arrivals_of(state: &State) -> u64 {
    let extra = &state.lanes[LANE_EXTRA];
    state.frames.iter().sum::<u64>() + extra.received + extra.duplicated + state.refused_trial
}

fn is_complete(states: &[(u8, State)], params: &SinkCollectParams) -> bool {
    params.expected.iter().all(|expected| {
        let sent =
            (expected.strand_frames.iter()).fold(0, |sum: u64, &frames| sum.saturating_add(frames));
        states
            .iter()
            .any(|(number, state)| *number == expected.stream && state.received() >= sent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_that_of_every_strand_up_to_its_last_frame() {
        let lane = |next_expected, longest_gap, loss_periods| Lane {
            next_expected,
            longest_gap,
            loss_periods,
            ..Lane::default()
        };
        let told = |strands: &[Lane], sent: &[u64]| {
            let SinkLoss { periods, longest } = loss(strands, sent);
            (periods, longest)
        };
        let strands = [lane(10, 3, 2), lane(7, 0, 0)];
        assert_eq!(told(&strands, &[10, 7]), (2, Some(3)));
        assert_eq!(told(&strands, &[]), (2, Some(3)));
        assert_eq!(told(&strands, &[11, 12]), (4, Some(5)));
        let late = Lane {
            reordered: 1,
            extent_sum: 6,
            extent_max: 6,
            ..strands[1]
        };
        assert_eq!(told(&[strands[0], late], &[10, 7]), (2, None));
        let found = reordering(&[strands[0], late, late]);
        assert_eq!((found.extent_mean, found.extent_max), (Some(6.0), Some(6)));
        assert_eq!(reordering(&strands).extent_max, None);
    }

    #[test]
    fn a_frame_of_any_phase_or_trial_is_no_quiet() {
        let mut state = State::default();
        let mut arrivals = vec![arrivals_of(&state)];
        for phase in [PHASE_PROBE, PHASE_WARMUP, PHASE_MEASURE] {
            state.frames[phase] += 1;
            arrivals.push(arrivals_of(&state));
        }
        state.lanes[LANE_EXTRA].received += 1;
        arrivals.push(arrivals_of(&state));
        state.refused_trial += 1;
        arrivals.push(arrivals_of(&state));
        assert_eq!(arrivals, [0, 1, 2, 3, 4, 5]);
    }
}
