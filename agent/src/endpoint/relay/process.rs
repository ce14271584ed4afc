//! # A relay's process as its agent has it

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};
use nix::poll::{PollFd, PollFlags};
use serde::Serialize;

use super::params::{RelayLoad, RelayParams};
use super::serve::Told;
use crate::endpoint::wait::{is_ready, wait};
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// How long a process may take to begin: generous, an emulated CPU is slow.
const BEGIN_NS: u64 = 20_000_000_000;
const LAST_WORDS_BYTES: u64 = 1000;

/// A relay. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    control: BufReader<UnixStream>,
    /// Reads its standard output to the end, as the paper's supervisors do, and counts the bytes.
    output: Option<JoinHandle<io::Result<u64>>>,
    /// Messages that it has not passed on.
    pub(super) refused: u64,
    pub(super) last_refusal: Option<String>,
}

impl Process {
    /// Starts a relay, which listens when this returns.
    pub(super) fn start(params: &RelayParams) -> Result<Self, Error> {
        let (ours, theirs) = UnixStream::pair().context("cannot make a relay's control stream")?;
        let writes = matches!(params.load, RelayLoad::Output(_));
        let mut child = Command::new("/proc/self/exe")
            .arg("--relay")
            .stdin(OwnedFd::from(theirs))
            .stdout(if writes {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a relay's process")?;
        let output = child
            .stdout
            .take()
            .map(|output| thread::spawn(|| count(output)));
        let mut process = Self {
            child,
            control: BufReader::new(ours),
            output,
            refused: 0,
            last_refusal: None,
        };
        process.tell(params)?;
        let until_ns = now_ns() + BEGIN_NS;
        loop {
            match process.hear(until_ns)? {
                Some(Told::Ready) => return Ok(process),
                Some(Told::Failed(problem)) => return Err(anyhow!(problem).into()),
                Some(_) => {}
                None => return Err(anyhow!("a relay does not begin").into()),
            }
        }
    }

    /// Has it do what a line says.
    pub(super) fn tell(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let mut line = serde_json::to_vec(line).context("cannot write to a relay")?;
        line.push(b'\n');
        let sent = self.control.get_mut().write_all(&line);
        sent.map_err(|_| anyhow!(self.ending()).into())
    }

    /// The next that it tells, refusals apart; None where `until_ns` comes before it. An error where it has ended.
    pub(super) fn hear(&mut self, until_ns: u64) -> Result<Option<Told>, Error> {
        loop {
            if self.control.buffer().is_empty() {
                let mut watched = [PollFd::new(self.as_fd(), PollFlags::POLLIN)];
                wait(&mut watched, Some(until_ns)).context("cannot wait for a relay")?;
                if !is_ready(&watched[0]) {
                    match now_ns() < until_ns {
                        true => continue,
                        false => return Ok(None),
                    }
                }
            }
            let mut line = Vec::new();
            let read = self.control.read_until(b'\n', &mut line);
            if read.is_err() || line.last() != Some(&b'\n') {
                return Err(anyhow!(self.ending()).into());
            }
            match serde_json::from_slice(&line).context("a relay tells what is none")? {
                Told::Refused(problem) => {
                    self.refused += 1;
                    self.last_refusal = Some(problem);
                }
                told => return Ok(Some(told)),
            }
        }
    }

    /// How it has ended, with the last that it said; None while it lives.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let mut words = String::new();
        if let Some(said) = self.child.stderr.take() {
            // What cannot be read is not missed.
            let _ = said.take(LAST_WORDS_BYTES).read_to_string(&mut words);
        }
        let words = words.trim();
        let colon = if words.is_empty() { "" } else { ": " };
        Some(format!("a relay has ended ({status}){colon}{words}"))
    }

    /// The same of one whose control stream has ended.
    fn ending(&mut self) -> String {
        self.settle();
        self.ended()
            .unwrap_or_else(|| "a relay has ended".to_owned())
    }

    /// Waits for one whose control stream has ended.
    pub(super) fn settle(&mut self) {
        // It is about to be gone, if it is not yet.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }

    /// Ends it; returns how many bytes it wrote to its standard output, where that is read.
    pub(super) fn end(&mut self) -> Option<u64> {
        // One that is gone already is ended all the same.
        let _ = self.child.kill().and_then(|()| self.child.wait());
        self.output.take()?.join().ok()?.ok()
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.get_ref().as_fd()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn count(mut output: ChildStdout) -> io::Result<u64> {
    io::copy(&mut output, &mut io::sink())
}
