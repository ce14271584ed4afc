//! # Stress: CPU and memory load, for what it does to others
//!
//! The workers are threads that nobody asks anything of while they work: stress.go starts them, and they work until
//! stress.collect asks what they did, the stress is closed or aborted, or the control stream ends. Each looks up many times within a
//! millisecond of its CPU time, so that all are gone soon after.

mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::worker::{Work, WorkerDone};
use crate::api::bounds::{GREATEST_MEMORY_BYTES, LEAST_MEMORY_BYTES, MOST_WORKERS};
use crate::api::values::Whole;
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// `stress.open`: how many workers there are to be, and how much memory each of the second kind takes and gives back.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StressOpenParams {
    /// How many workers take CPU time.
    cpu_workers: Whole<usize, 0, MOST_WORKERS>,
    /// How many workers allocate and write memory; with the others at most 64, and one at least.
    memory_workers: Whole<usize, 0, MOST_WORKERS>,
    /// How much memory each of them writes, in bytes.
    memory_bytes: Whole<usize, LEAST_MEMORY_BYTES, GREATEST_MEMORY_BYTES>,
}

impl StressOpenParams {
    fn check(&self) -> Result<(), Error> {
        let workers = self.cpu_workers.get() + self.memory_workers.get();
        if !(1..=MOST_WORKERS).contains(&(workers as u64)) {
            let problem = format!("with memory_workers must be between 1 and {MOST_WORKERS}");
            return Err(Error::params("cpu_workers", problem));
        }
        Ok(())
    }

    fn works(&self) -> Vec<Work> {
        let memory = Work::Memory {
            bytes: self.memory_bytes.get(),
        };
        [
            vec![Work::Cpu; self.cpu_workers.get()],
            vec![memory; self.memory_workers.get()],
        ]
        .concat()
    }
}

/// `stress.collect`: for how long the workers were at work, and what each has done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StressCollectAnswer {
    /// How long they were at work, in s.
    duration_s: f64,
    /// Whether they were stopped before they were asked.
    aborted: bool,
    /// The workers.
    workers: Vec<WorkerDone>,
}

/// Workers, at work or not yet. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Stress {
    works: Vec<Work>,
    shift: Option<Shift>,
}

/// The workers' time at work.
#[derive(Debug)]
struct Shift {
    begun_ns: u64,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<WorkerDone>>,
}

impl Stress {
    pub(crate) fn open(params: &StressOpenParams) -> Result<Self, Error> {
        params.check()?;
        Ok(Self {
            works: params.works(),
            shift: None,
        })
    }

    /// Starts the workers, and returns when every one of them runs.
    pub(crate) fn go(&mut self) -> Result<(), Error> {
        if self.shift.is_some() {
            return Err(anyhow!("the workers are at work; call stress.collect first").into());
        }
        let mut shift = Shift {
            begun_ns: now_ns(),
            stop: Arc::default(),
            workers: Vec::new(),
        };
        let (runs, running) = sync_channel(self.works.len());
        for &work in &self.works {
            let (stop, runs) = (Arc::clone(&shift.stop), runs.clone());
            let worker = thread::Builder::new()
                .name(work.name().to_owned())
                .spawn(move || {
                    // Nobody listens any more where another worker could not be started.
                    let _ = runs.send(());
                    work.until(&stop)
                });
            shift
                .workers
                .push(worker.context("cannot start a worker; stress with fewer of them")?);
        }
        for _ in &self.works {
            running.recv().context("a worker has ended")?;
        }
        self.shift = Some(shift);
        Ok(())
    }

    /// Ends the work and tells what was done.
    pub(crate) fn collect(&mut self) -> Result<StressCollectAnswer, Error> {
        let mut shift = self
            .shift
            .take()
            .ok_or_else(|| anyhow!("the workers are not at work; call stress.go first"))?;
        let aborted = shift.stop.load(Ordering::Relaxed);
        let duration_s = (now_ns() - shift.begun_ns) as f64 / 1e9;
        Ok(StressCollectAnswer {
            duration_s,
            aborted,
            workers: shift.end().ok_or_else(|| anyhow!("a worker has died"))?,
        })
    }

    /// Asks the workers to end, without waiting for them.
    pub(crate) fn abort(&self) {
        if let Some(shift) = &self.shift {
            shift.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Shift {
    /// Ends all workers. None where one has died by itself.
    fn end(&mut self) -> Option<Vec<WorkerDone>> {
        self.stop.store(true, Ordering::Relaxed);
        let ended: Vec<_> = self.workers.drain(..).map(JoinHandle::join).collect();
        ended.into_iter().map(Result::ok).collect()
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        // What they have done is of no more use.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    fn params(
        cpu_workers: Value,
        memory_workers: Value,
        memory_bytes: Value,
    ) -> Result<StressOpenParams, Error> {
        read_value(json!({
            "cpu_workers": cpu_workers, "memory_workers": memory_workers, "memory_bytes": memory_bytes,
        }))
    }

    fn open(cpu_workers: usize, memory_workers: usize) -> Stress {
        let params = params(json!(cpu_workers), json!(memory_workers), json!(1 << 20));
        Stress::open(&params.unwrap()).unwrap()
    }

    /// Until each worker has done something.
    fn work(stress: &mut Stress) -> StressCollectAnswer {
        loop {
            stress.go().unwrap();
            thread::sleep(std::time::Duration::from_millis(10));
            let told = stress.collect().unwrap();
            if told.workers.iter().all(|done| done.rounds > 0) {
                return told;
            }
        }
    }

    #[test]
    fn every_worker_works_until_asked() {
        let told = work(&mut open(2, 1));
        let kinds: Vec<_> = told.workers.iter().map(|done| done.kind).collect();
        assert_eq!(kinds, ["cpu", "cpu", "memory"]);
        assert!(told.workers.iter().all(|done| done.problem.is_none()));
        assert!(!told.aborted && told.duration_s > 0.0);
    }

    #[test]
    fn an_abort_ends_the_work_and_is_told() {
        let mut stress = open(1, 1);
        stress.go().unwrap();
        stress.abort();
        while !stress
            .shift
            .as_ref()
            .unwrap()
            .workers
            .iter()
            .all(JoinHandle::is_finished)
        {
            thread::yield_now();
        }
        assert!(stress.collect().unwrap().aborted);
    }

    #[test]
    fn work_begins_once_and_is_collected_once() {
        let mut stress = open(1, 0);
        assert!(stress.collect().is_err());
        stress.go().unwrap();
        assert!(stress.go().is_err());
        stress.collect().unwrap();
        assert!(stress.collect().is_err());
    }

    #[test]
    fn memory_that_is_not_to_be_had_is_a_problem_and_no_end() {
        let done = Work::Memory {
            bytes: usize::MAX >> 1,
        }
        .until(&AtomicBool::new(false));
        assert!(done.problem.is_some());
    }

    #[test]
    fn params_beyond_the_bounds_are_refused_by_the_field() {
        for (params, field) in [
            (params(json!(0), json!(0), json!(1 << 20)), "cpu_workers: "),
            (params(json!(60), json!(5), json!(1 << 20)), "cpu_workers: "),
            (params(json!(1), json!(0), json!(1)), "memory_bytes: 1 "),
            (
                params(json!(1), json!(0), json!(5_u64 << 30)),
                "memory_bytes: ",
            ),
        ] {
            let opened = params.and_then(|params| Stress::open(&params));
            let problem = opened.unwrap_err().to_string();
            assert!(problem.starts_with(field), "{problem}");
        }
    }
}
