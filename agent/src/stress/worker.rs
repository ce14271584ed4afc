//! # What a worker does, round after round

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::cpu::ThreadTime;

/// Square roots of a round.
const ROOTS: u32 = 10_000;
/// Memory that is written between two looks at whether to stop.
const PIECE_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Takes square roots.
    Cpu,
    /// Allocates so much memory, writes all of it, releases it, and begins anew.
    Memory { bytes: usize },
}

/// What a worker has done.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkerDone {
    /// What the worker takes.
    #[schemars(extend("enum" = ["cpu", "memory"]))]
    pub(super) kind: &'static str,
    /// Whole rounds; of a memory worker those in which all its memory was written.
    pub(super) rounds: u64,
    /// The time of its thread; null where the kernel does not account for it.
    time: Option<ThreadTime>,
    /// Why it ended before it was told to; null where it did not.
    pub(super) problem: Option<String>,
}

impl Work {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory { .. } => "memory",
        }
    }

    /// Works in the calling thread until told to stop.
    pub(super) fn until(self, stop: &AtomicBool) -> WorkerDone {
        let mut done = WorkerDone {
            kind: self.name(),
            rounds: 0,
            time: None,
            problem: None,
        };
        while !stop.load(Ordering::Relaxed) {
            match self {
                Self::Cpu => done.rounds += take_roots(),
                Self::Memory { bytes } => match write_memory(bytes, stop) {
                    Ok(rounds) => done.rounds += rounds,
                    Err(problem) => {
                        done.problem = Some(problem);
                        break;
                    }
                },
            }
        }
        done.time = ThreadTime::of_this_thread().ok();
        done
    }
}

fn take_roots() -> u64 {
    for number in 0..ROOTS {
        black_box(f64::from(black_box(number)).sqrt());
    }
    1
}

/// The number of whole rounds that this was: one, or none where it was told to stop.
fn write_memory(bytes: usize, stop: &AtomicBool) -> Result<u64, String> {
    let mut memory: Vec<u8> = Vec::new();
    memory
        .try_reserve_exact(bytes)
        .map_err(|error| format!("cannot allocate {bytes} bytes: {error}"))?;
    while memory.len() < bytes {
        if stop.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let written = memory.len();
        memory.resize(bytes.min(written + PIECE_BYTES), written as u8 | 1);
    }
    black_box(&memory);
    Ok(1)
}
