//! # Canary: fixed work that shows how fast a CPU is
//!
//! Five kinds of work, which a machine slows in different ways. A chain of multiplications takes longer where the clock rate
//! is lower. Additions side by side also do where another thread has part of the core, be it a guest's of the machine below.
//! Loads past all caches also do where others use the memory. System calls and frames through the kernel have part in all
//! of these, and in what the kernel does about the CPU's vulnerabilities.
//!
//! Pieces of some ten µs take turns, and the median of a kind's pieces counts, so that one interrupted piece does not.

#[cfg(test)]
mod tests;
mod wire;
mod work;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};

use self::wire::CanaryReading;
pub(crate) use self::wire::{CanaryOpenParams, CanaryReadAnswer};
use self::work::{Frames, Loads, chain, parallel, system_calls};
use crate::cpu::{pin_this_thread, preempt_ordinary_threads};
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// Pieces of each kind in a reading. Odd: the median is one of them.
const PIECES: usize = 21;
/// Pieces before those, which bring the work's own code and data into caches.
const WARM_UP_PIECES: usize = 2;

/// The work, prepared; it keeps a network namespace of its own.
#[derive(Debug)]
pub(crate) struct Canary {
    cpus: Vec<usize>,
    loads: Loads,
    frames: Frames,
}

impl Canary {
    pub(crate) fn open(params: &CanaryOpenParams) -> Result<Self, Error> {
        Ok(Self {
            cpus: params.cpus.clone(),
            loads: Loads::prepare(),
            frames: Frames::prepare()?,
        })
    }

    /// Does the work on each CPU, one after the other. It takes about 5 ms of each.
    pub(crate) fn read(&mut self, abort: &AtomicBool) -> Result<CanaryReadAnswer, Error> {
        // Other threads would make pieces longer without slowing the CPU.
        preempt_ordinary_threads()
            .context("cannot raise the priority of the canary's thread; grant CAP_SYS_NICE")?;
        let mut readings = Vec::with_capacity(self.cpus.len());
        for cpu in self.cpus.clone() {
            pin_this_thread(cpu).with_context(|| format!("cannot run on CPU {cpu}"))?;
            readings.push(self.of_this_cpu(cpu, abort)?);
        }
        Ok(CanaryReadAnswer { readings })
    }

    fn of_this_cpu(&mut self, cpu: usize, abort: &AtomicBool) -> Result<CanaryReading, Error> {
        let mut pieces: [Vec<f64>; 5] = Default::default();
        for piece in 0..WARM_UP_PIECES + PIECES {
            if abort.load(Ordering::Relaxed) {
                return Err(anyhow!("aborted").into());
            }
            self.loads.flush();
            let took_ns = [
                timed(|| Ok(self.loads.run()))?,
                timed(|| Ok(chain()))?,
                timed(|| Ok(parallel()))?,
                timed(|| Ok(system_calls()))?,
                timed(|| self.frames.run())?,
            ];
            if piece >= WARM_UP_PIECES {
                for (all, one) in pieces.iter_mut().zip(took_ns) {
                    all.push(one);
                }
            }
        }
        let [load_ns, chain_ns, parallel_ns, system_call_ns, frame_ns] = pieces.map(median);
        Ok(CanaryReading {
            cpu,
            chain_ns,
            parallel_ns,
            load_ns,
            system_call_ns,
            frame_ns,
        })
    }
}

/// How long one step took of the work that returns how many it was, in ns.
fn timed(work: impl FnOnce() -> anyhow::Result<u32>) -> anyhow::Result<f64> {
    let begun_ns = now_ns();
    let steps = work()?;
    Ok((now_ns() - begun_ns) as f64 / f64::from(steps))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
