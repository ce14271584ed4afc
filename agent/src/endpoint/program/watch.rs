//! # What is known of a program while it runs, and how to wait for more

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::output::Tail;
use super::samples::Samples;
use crate::traffic::clock::now_ns;

/// Longest wait without a look at whether to end: rarely, since it wakes a CPU that is measured.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What a program writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Error,
}

/// What is listened for in what it writes.
#[derive(Debug)]
pub(super) enum Wanted {
    /// Text in a line of either stream.
    Ready(String),
    /// Samples on standard output.
    Samples(Samples),
}

/// How a program stands, or has ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ProgramStatus {
    /// How it has ended, in words; null while it runs.
    pub(super) ended: Option<String>,
    /// Whether it has ended by itself, with exit status 0.
    pub(super) succeeded: bool,
    /// Why the agent has ended it, if it had to.
    pub(super) stopped: Option<String>,
    /// The last lines of both its streams, samples left out.
    said: Vec<String>,
    /// Bytes that it has written to both its streams.
    output_bytes: u64,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) wanted: Wanted,
    pub(super) is_ready: bool,
    pub(super) ended: Option<String>,
    pub(super) succeeded: bool,
    stopped: Option<String>,
    said: Tail,
    output_bytes: u64,
    most_bytes: u64,
    streams: usize,
}

impl State {
    /// Whether nothing more will come of it.
    pub(super) fn is_over(&self) -> bool {
        self.ended.is_some() && self.streams == 0
    }

    pub(super) fn told(&self) -> ProgramStatus {
        ProgramStatus {
            ended: self.ended.clone(),
            succeeded: self.succeeded && self.stopped.is_none(),
            stopped: self.stopped.clone(),
            said: self.said.lines(),
            output_bytes: self.output_bytes,
        }
    }

    fn hear(&mut self, from: Stream, line: &[u8], is_whole: bool) -> bool {
        match &mut self.wanted {
            Wanted::Samples(samples) if from == Stream::Output => {
                samples.take(line, is_whole);
                false
            }
            Wanted::Samples(_) => {
                self.said.add(line);
                false
            }
            Wanted::Ready(text) => {
                self.said.add(line);
                let says_so = !self.is_ready && String::from_utf8_lossy(line).contains(&*text);
                self.is_ready |= says_so;
                says_so
            }
        }
    }
}

/// Shared by whoever listens to the program and whoever waits for it.
#[derive(Debug)]
pub(super) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
    control: UnixStream,
}

impl Watch {
    /// Of a program with two streams, supervised by way of `control`, that may write so many bytes.
    pub(super) fn new(control: UnixStream, wanted: Wanted, most_bytes: u64) -> Self {
        let state = State {
            wanted,
            is_ready: false,
            ended: None,
            succeeded: false,
            stopped: None,
            said: Tail::default(),
            output_bytes: 0,
            most_bytes,
            streams: 2,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            control,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    /// Has it ended, and says why, unless that is asked for anyway.
    pub(super) fn stop(&self, why: Option<String>) {
        let mut state = self.state();
        if state.ended.is_none() && state.stopped.is_none() {
            state.stopped = why;
        }
        // Its supervisor takes the end of its control stream for that; one that is gone has ended it.
        let _ = self.control.shutdown(Shutdown::Write);
    }

    /// Takes a line; false where the program has written too much and nothing more is wanted.
    pub(super) fn hear(&self, from: Stream, line: &[u8], bytes: u64, is_whole: bool) -> bool {
        let mut state = self.state();
        state.output_bytes += bytes;
        let most = state.most_bytes;
        if state.output_bytes > most {
            drop(state);
            self.stop(Some(format!("it wrote more than {most} bytes")));
            return false;
        }
        if state.hear(from, line, is_whole) {
            self.changed.notify_all();
        }
        true
    }

    pub(super) fn stream_ended(&self) {
        self.state().streams -= 1;
        self.changed.notify_all();
    }

    /// That it has ended, so and with success or not; what was told first holds.
    pub(super) fn ended(&self, how: &str, succeeded: bool) {
        let mut state = self.state();
        if state.ended.is_none() {
            state.ended = Some(how.to_owned());
            state.succeeded = succeeded;
        }
        self.changed.notify_all();
    }

    /// Waits for what `is_so` says, or for `until_ns` or `abort`; whether it is so.
    pub(super) fn wait(
        &self,
        until_ns: Option<u64>,
        abort: &AtomicBool,
        is_so: impl Fn(&State) -> bool,
    ) -> bool {
        let mut state = self.state();
        loop {
            if is_so(&state) {
                return true;
            }
            let left = until_ns.map(|until_ns| until_ns.saturating_sub(now_ns()));
            if left == Some(0) || abort.load(Ordering::Relaxed) {
                return false;
            }
            let limit = left.map_or(LOOK_UP, |left_ns| {
                LOOK_UP.min(Duration::from_nanos(left_ns))
            });
            let waited = self.changed.wait_timeout(state, limit);
            state = waited.unwrap_or_else(|poison| poison.into_inner()).0;
        }
    }
}

impl ProgramStatus {
    /// How it ended, and why it had to.
    pub(super) fn ending(&self) -> String {
        let how = self.ended.as_deref().unwrap_or("it runs");
        match &self.stopped {
            Some(why) => format!("{why}; {how}"),
            None => how.to_owned(),
        }
    }

    /// What it said last, to be put behind a sentence.
    pub(super) fn last_words(&self) -> String {
        self.said
            .last()
            .map_or_else(String::new, |last| format!(": {last}"))
    }
}
