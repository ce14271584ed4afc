//! # Calibration: how fast each mechanism is on these very interfaces
//!
//! Short floods, or paced loads beyond reach, of all mechanisms in turn, so that what disturbs the machine disturbs all alike. What
//! lies behind the link is to be out of the way: see `ingress.drop`. So is the link's own rate; its frames leave in trains as short.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use super::params::{self, Rates, SourceFlows, SourcePhase, SourceRunParams};
use super::reply::{MechanismRefusal, SourceOpenAnswer, SourceRunAnswer};
use crate::api::bounds::{GREATEST_FPS, LONGEST_PHASE_S};
use crate::api::values::{List, Positive};
use crate::error::Error;
use crate::traffic::frame::Phase;
use crate::traffic::lengths::Lengths;
use crate::traffic::mechanism::Name;

const ROUNDS: usize = 3;
const WARMUP_S: Positive<LONGEST_PHASE_S> = Positive::of(0.02);
const MEASURE_S: Positive<LONGEST_PHASE_S> = Positive::of(0.05);
/// Marks the frames as none of a trial's.
const NO_TRIAL: u32 = 0;
const PROBE_FPS: Positive<GREATEST_FPS> = Positive::of(200.0);

/// `source.calibrate`: the ceilings of one kind of load, all streams together.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceCalibrateParams {
    /// The lengths of the frames.
    frame_bytes: Lengths,
    /// UDP flows of each stream, by source ports.
    #[serde(default = "params::one")]
    flows: SourceFlows,
    /// The kind of load.
    load: CalibratedLoad,
}

/// The kind of load that a ceiling is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CalibratedLoad {
    /// Frame by frame, in short bursts where that is too slow.
    Paced,
    Flood,
}

/// Ceilings, the highest first, and why the other mechanisms are not used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SourceCalibrateAnswer {
    /// The mechanisms with their ceilings, the highest first.
    ceilings: Vec<Ceiling>,
    /// The mechanisms that are not used.
    refused: Vec<MechanismRefusal>,
}

/// What a mechanism can send.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Ceiling {
    /// The mechanism.
    mechanism: Name,
    /// Frames a second of all streams, the median of the rounds.
    ceiling_fps: f64,
}

impl Source {
    pub(crate) fn calibrate(
        &mut self,
        params: &SourceCalibrateParams,
        abort: &AtomicBool,
    ) -> Result<SourceCalibrateAnswer, Error> {
        let SourceOpenAnswer {
            mut mechanisms,
            mut refused,
        } = self.fitness();
        let mut rates: Vec<(Name, f64)> = Vec::new();
        for _ in 0..ROUNDS {
            for mechanism in mechanisms.clone() {
                match self.send(&params.run(mechanism), Rates::Lifted, abort) {
                    Ok(reply) => rates.push((mechanism, reply.last_phase_fps())),
                    // Every interface takes raw frames: what it refuses is wrong with the call.
                    Err(error) if mechanism == Name::Raw => return Err(error),
                    Err(error) => {
                        mechanisms.retain(|&other| other != mechanism);
                        refused.push(MechanismRefusal {
                            mechanism,
                            reason: error.to_string(),
                        });
                    }
                }
                if abort.load(Ordering::Relaxed) {
                    return Err(anyhow!("the calibration was aborted").into());
                }
            }
        }
        let ceiling = |&mechanism: &Name| {
            let of_it = rates.iter().filter(|(other, _)| *other == mechanism);
            Ceiling {
                mechanism,
                ceiling_fps: median(of_it.map(|(_, fps)| *fps).collect()),
            }
        };
        let mut ceilings: Vec<_> = mechanisms.iter().map(ceiling).collect();
        ceilings.sort_by(|one, other| other.ceiling_fps.total_cmp(&one.ceiling_fps));
        Ok(SourceCalibrateAnswer { ceilings, refused })
    }
}

impl SourceCalibrateParams {
    fn run(&self, mechanism: Name) -> SourceRunParams {
        let phase = |phase, duration_s| SourcePhase { phase, duration_s };
        SourceRunParams {
            trial: NO_TRIAL,
            frame_bytes: self.frame_bytes.clone(),
            flows: self.flows,
            mechanism,
            intended_fps: (self.load == CalibratedLoad::Paced).then_some(Positive::GREATEST),
            probe_fps: PROBE_FPS,
            shares_cpu: false,
            phases: List::of([
                phase(Phase::Warmup, WARMUP_S),
                phase(Phase::Measure, MEASURE_S),
            ]),
        }
    }
}

impl SourceRunAnswer {
    /// Frames a second of all streams together.
    fn last_phase_fps(&self) -> f64 {
        let last = self
            .streams
            .iter()
            .filter_map(|stream| stream.phases.last());
        last.map(|phase| {
            let window_s = (phase.end_ns - phase.start_ns) as f64 / 1e9;
            phase.tally.frames_sent as f64 / window_s
        })
        .sum()
    }
}

/// Of an odd number of values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disturbed_round_does_not_move_the_median() {
        assert_eq!(median(vec![3.0, 900.0, 2.0]), 3.0);
    }
}
