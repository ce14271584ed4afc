//! # Long calls: which are under way, and how to end them

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::anyhow;

use crate::error::Error;

/// The long calls under way, at most one of a method.
#[derive(Debug, Default)]
pub(super) struct LongCalls {
    aborts: Mutex<HashMap<String, Arc<AtomicBool>>>,
}

impl LongCalls {
    /// Enters a call, unless one of the same method is under way.
    pub(super) fn begin(&self, method: &str) -> Result<LongCall<'_>, Error> {
        let mut aborts = self.aborts();
        if aborts.contains_key(method) {
            let problem = anyhow!("{method} is under way; await its reply or abort it");
            return Err(problem.into());
        }
        let abort = Arc::default();
        aborts.insert(method.to_owned(), Arc::clone(&abort));
        let method = method.to_owned();
        Ok(LongCall {
            calls: self,
            method,
            abort,
        })
    }

    /// Asks all calls under way to end.
    pub(super) fn abort(&self) {
        for abort in self.aborts().values() {
            abort.store(true, Ordering::Relaxed);
        }
    }

    fn aborts(&self) -> MutexGuard<'_, HashMap<String, Arc<AtomicBool>>> {
        self.aborts
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

/// A long call under way, until this is dropped.
#[derive(Debug)]
pub(super) struct LongCall<'a> {
    calls: &'a LongCalls,
    method: String,
    /// Set when the call is to end.
    pub(super) abort: Arc<AtomicBool>,
}

impl Drop for LongCall<'_> {
    fn drop(&mut self) {
        self.calls.aborts().remove(&self.method);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_of_a_method_at_a_time() {
        let calls = LongCalls::default();
        let run = calls.begin("source.run").unwrap();
        let collect = calls.begin("sink.collect").unwrap();
        assert!(calls.begin("source.run").is_err());
        calls.abort();
        assert!(run.abort.load(Ordering::Relaxed));
        assert!(collect.abort.load(Ordering::Relaxed));
        drop(run);
        let again = calls.begin("source.run").unwrap();
        assert!(!again.abort.load(Ordering::Relaxed));
    }
}
