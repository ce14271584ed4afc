//! # A client program: it makes its iterations, tells what each took, and ends

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::Files;
use super::params::Command;
use super::process::Program;
use super::samples::Samples;
use super::watch::{ProgramStatus, Wanted, Watch};
use crate::api::bounds::{LONGEST_PROGRAM_MS, MOST_ITERATIONS};
use crate::api::values::Whole;
use crate::cpu::CpuLatency;
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// What a client may write beside its samples.
const MOST_WORDS_BYTES: u64 = 1 << 20;
/// What it may write of each: the longest number, and space.
const SAMPLE_BYTES: u64 = 24;
/// Samples in a reply.
const CHUNK: usize = 1500;

/// `client.run`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientRunParams {
    /// The program to start.
    command: Command,
    /// How many samples the program is to write.
    iterations: Whole<usize, 1, MOST_ITERATIONS>,
    /// A program that takes longer is ended, in ms.
    timeout_ms: Whole<u64, 1, LONGEST_PROGRAM_MS>,
}

/// `client.run`: that it is over. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ClientRunAnswer {
    /// Before the program began, CLOCK_MONOTONIC in ns.
    start_ns: u64,
    /// After the end of the program, CLOCK_MONOTONIC in ns.
    end_ns: u64,
    /// Whether the CPUs were kept out of deep sleep.
    cpu_latency_held: bool,
}

/// `client.collect`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ClientCollectAnswer {
    #[serde(flatten)]
    program: ProgramStatus,
    /// How many samples were kept.
    samples: usize,
    /// Samples beyond those that were asked for, which are not kept.
    excess: u64,
    /// Lines on standard output that are no samples.
    garbage: u64,
    /// The first line that is no sample; null where there is none.
    first_garbage: Option<String>,
}

/// `client.samples`: from which iteration on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientSamplesParams {
    /// The iteration to begin at, counted from 0.
    first: usize,
}

/// At most 1,500 samples, null where the iteration failed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ClientSamplesAnswer {
    /// How many samples the run has in all.
    samples: usize,
    /// The samples from `first` on, in ns; null where the iteration failed.
    ns: Vec<Option<u64>>,
}

#[derive(Debug)]
pub(crate) struct Client(Program);

/// A run under way.
pub(crate) struct Run {
    watch: Arc<Watch>,
    start_ns: u64,
    timeout_ms: u64,
    latency: Option<CpuLatency>,
}

impl Client {
    /// Starts the program, which ends with the calling thread.
    pub(crate) fn start(params: &ClientRunParams, files: &Files) -> Result<(Self, Run), Error> {
        let latency = CpuLatency::hold();
        let most_bytes = MOST_WORDS_BYTES + SAMPLE_BYTES * params.iterations.get() as u64;
        let wanted = Wanted::Samples(Samples::of(params.iterations.get()));
        let start_ns = now_ns();
        let program = Program::start(&params.command, files, wanted, most_bytes)?;
        let run = Run {
            watch: Arc::clone(&program.watch),
            start_ns,
            timeout_ms: params.timeout_ms.get(),
            latency,
        };
        Ok((Self(program), run))
    }

    /// What came of the run.
    pub(crate) fn collect(&self) -> ClientCollectAnswer {
        let state = self.0.watch.state();
        let program = state.told();
        let Wanted::Samples(samples) = &state.wanted else {
            unreachable!("a client is listened to for samples")
        };
        ClientCollectAnswer {
            program,
            samples: samples.ns.len(),
            excess: samples.excess,
            garbage: samples.garbage,
            first_garbage: samples.first_garbage.clone(),
        }
    }

    pub(crate) fn samples(
        &self,
        params: &ClientSamplesParams,
    ) -> Result<ClientSamplesAnswer, Error> {
        let state = self.0.watch.state();
        let Wanted::Samples(samples) = &state.wanted else {
            unreachable!("a client is listened to for samples")
        };
        let count = samples.ns.len();
        if params.first > count {
            let problem = format!("{} is beyond the {count} samples", params.first);
            return Err(Error::params("first", problem));
        }
        let end = count.min(params.first + CHUNK);
        Ok(ClientSamplesAnswer {
            samples: count,
            ns: samples.ns[params.first..end].to_vec(),
        })
    }
}

impl Run {
    /// Until the program has ended; one that takes too long is ended. Setting `abort` ends it as well.
    pub(crate) fn finish(self, abort: &AtomicBool) -> Result<ClientRunAnswer, Error> {
        let until_ns = self.start_ns + self.timeout_ms * 1_000_000;
        let never = AtomicBool::new(false);
        if !self
            .watch
            .wait(Some(until_ns), abort, |state| state.is_over())
        {
            let was_aborted = abort.load(Ordering::Relaxed);
            let why = match was_aborted {
                true => "the run was aborted".to_owned(),
                false => format!("it took longer than {} ms", self.timeout_ms),
            };
            self.watch.stop(Some(why));
            let patience_ns = now_ns() + 1_000_000_000;
            if !self
                .watch
                .wait(Some(patience_ns), &never, |state| state.is_over())
            {
                return Err(anyhow!("the client does not end; close it").into());
            }
        }
        Ok(ClientRunAnswer {
            start_ns: self.start_ns,
            end_ns: now_ns(),
            cpu_latency_held: self.latency.is_some(),
        })
    }
}
