//! # A server program: it is ready when it says so, and is not to end by itself

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use schemars::JsonSchema;
use serde::Deserialize;

use super::files::Files;
use super::params::Command;
use super::process::Program;
use super::watch::{ProgramStatus, Wanted, Watch};
use crate::api::bounds::LONGEST_PROGRAM_MS;
use crate::api::values::Whole;
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// A server that writes more than this is ended: what it takes to do so is in others' times.
const MOST_BYTES: u64 = 16 << 20;

/// `server.open`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerOpenParams {
    /// The program to start.
    command: Command,
    /// What a line has that says that it is ready.
    ready: String,
    /// How long it may take until the program is ready, in ms.
    timeout_ms: Whole<u64, 1, LONGEST_PROGRAM_MS>,
}

#[derive(Debug)]
pub(crate) struct Server(Program);

/// Waits for what a server does.
#[derive(Debug)]
pub(crate) struct Watcher(Arc<Watch>);

impl Server {
    /// Starts the program, which ends with the calling thread.
    pub(crate) fn start(params: &ServerOpenParams, files: &Files) -> Result<Self, Error> {
        if params.ready.is_empty() {
            return Err(Error::params("ready", "every line has no text in it"));
        }
        let wanted = Wanted::Ready(params.ready.clone());
        Program::start(&params.command, files, wanted, MOST_BYTES).map(Self)
    }

    pub(crate) fn watcher(&self) -> Watcher {
        Watcher(Arc::clone(&self.0.watch))
    }

    /// How it stands.
    pub(crate) fn collect(&self) -> ProgramStatus {
        self.0.watch.state().told()
    }
}

impl Watcher {
    /// Until the program says that it is ready. An error where it ends instead, or takes longer.
    pub(crate) fn await_ready(
        &self,
        params: &ServerOpenParams,
        abort: &AtomicBool,
    ) -> Result<(), Error> {
        let until_ns = now_ns() + params.timeout_ms.get() * 1_000_000;
        self.0.wait(Some(until_ns), abort, |state| {
            state.is_ready || state.is_over()
        });
        let state = self.0.state();
        if state.is_ready {
            return Ok(());
        }
        let name = &params.command.argv[0];
        let what = if state.is_over() {
            let told = state.told();
            format!("{name} has ended before it was ready ({})", told.ending())
        } else if abort.load(Ordering::Relaxed) {
            format!("waiting for {name} was aborted")
        } else {
            let (limit_ms, ready) = (params.timeout_ms.get(), &params.ready);
            format!("{name} has not said {ready:?} within {limit_ms} ms")
        };
        Err(anyhow!("{what}{}", state.told().last_words()).into())
    }

    /// Until it has ended, or `abort` is set; how it stands then.
    pub(crate) fn await_end(&self, abort: &AtomicBool) -> Result<ProgramStatus, Error> {
        self.0.wait(None, abort, |state| state.is_over());
        Ok(self.0.state().told())
    }
}
