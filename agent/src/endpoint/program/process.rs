//! # A program's supervisor as its agent has it

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use anyhow::Context;

use super::files::Files;
use super::output::each_line;
use super::params::{Command, Launch};
use super::serve::Told;
use super::watch::{Stream, Wanted, Watch};
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// What a supervisor may take to end all before it is ended itself.
const END_NS: u64 = 900_000_000;

/// A program. Dropping it ends it, and all that it has started.
#[derive(Debug)]
pub(super) struct Program {
    supervisor: Child,
    pub(super) watch: Arc<Watch>,
    listeners: Vec<JoinHandle<()>>,
}

impl Program {
    /// Starts a program. It ends with the calling thread.
    pub(super) fn start(
        command: &Command,
        files: &Files,
        wanted: Wanted,
        most_bytes: u64,
    ) -> Result<Self, Error> {
        command.check()?;
        let launch = Launch {
            argv: command.argv.clone(),
            environment: command.environment.clone(),
            files: files.all(),
        };
        let (mut ours, theirs) =
            UnixStream::pair().context("cannot make a program's control stream")?;
        let mut supervisor = Process::new("/proc/self/exe")
            .arg("--program")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a program's supervisor")?;
        let output = supervisor.stdout.take();
        let error = supervisor.stderr.take();
        let told = ours.try_clone().context("cannot listen to a supervisor")?;
        let control = ours.try_clone().context("cannot listen to a supervisor")?;
        let watch = Arc::new(Watch::new(control, wanted, most_bytes));
        let listeners = vec![
            listen(&watch, output, Stream::Output),
            listen(&watch, error, Stream::Error),
            follow(&watch, told),
        ];
        let program = Self {
            supervisor,
            watch,
            listeners,
        };
        let mut line = serde_json::to_vec(&launch).context("cannot write to a supervisor")?;
        line.push(b'\n');
        let written = ours.write_all(&line);
        written.context("a program's supervisor has ended")?;
        Ok(program)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.watch.stop(None);
        let until_ns = Some(now_ns() + END_NS);
        let never = AtomicBool::new(false);
        if !self.watch.wait(until_ns, &never, |state| state.is_over()) {
            // All that it has started ends with it.
            let _ = self.supervisor.kill();
        }
        // One that is gone already is ended all the same.
        let _ = self.supervisor.wait();
        for listener in self.listeners.drain(..) {
            let _ = listener.join();
        }
    }
}

/// Hears all of a stream.
fn listen(
    watch: &Arc<Watch>,
    stream: Option<impl Read + Send + 'static>,
    from: Stream,
) -> JoinHandle<()> {
    let watch = Arc::clone(watch);
    thread::spawn(move || {
        if let Some(stream) = stream {
            each_line(stream, |line, bytes, is_whole| {
                watch.hear(from, line, bytes, is_whole)
            });
        }
        watch.stream_ended();
    })
}

/// Hears how the program ends.
fn follow(watch: &Arc<Watch>, control: UnixStream) -> JoinHandle<()> {
    let watch = Arc::clone(watch);
    thread::spawn(move || {
        for line in BufReader::new(control).lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Told::Failed(problem)) => watch.ended(&problem, false),
                Ok(Told::Ended { how, succeeded }) => watch.ended(&how, succeeded),
                Err(_) => break,
            }
        }
        watch.ended("its supervisor has ended", false);
    })
}
