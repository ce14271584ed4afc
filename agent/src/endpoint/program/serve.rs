//! # A program's supervisor: a process that starts it, and ends all that it has started
//!
//! Its standard input is its end of a pair of sockets: one line of JSON from the agent, and then nothing until that wants
//! the program to end. Its standard output and error are the program's.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::{env, fs, process};

use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use serde::{Deserialize, Serialize};

use super::confine;
use super::files::write_files;
use super::params::Launch;
use crate::endpoint::wait::{is_ready, wait};

const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a supervisor tells its agent.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Told {
    /// The program was not started: why.
    Failed(String),
    /// It is gone, and all that it has started.
    Ended { how: String, succeeded: bool },
}

/// Starts a program and waits for its end, or for the agent's word.
pub fn serve() -> anyhow::Result<()> {
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut line = String::new();
    BufReader::new(control.try_clone()?).read_line(&mut line)?;
    let launch: Launch = serde_json::from_str(&line)?;
    let told = match supervise(&control, &launch) {
        Ok(Some(told)) => told,
        Ok(None) => return Ok(()),
        Err(error) => Told::Failed(format!("{error:#}")),
    };
    let mut line = serde_json::to_vec(&told)?;
    line.push(b'\n');
    // An agent that is gone is told nothing.
    let _ = (&control).write_all(&line);
    Ok(())
}

/// None in the process that only waits for the one that supervises.
fn supervise(control: &UnixStream, launch: &Launch) -> anyhow::Result<Option<Told>> {
    if confine::part_from_host()? {
        // SAFETY: this process has one thread.
        match unsafe { fork() }.context("cannot start a supervisor")? {
            ForkResult::Parent { child } => {
                while waitpid(child, None) == Err(Errno::EINTR) {}
                return Ok(None);
            }
            ForkResult::Child => set_pdeathsig(Signal::SIGKILL)?,
        }
        confine::see_read_only()?;
    }
    confine::drop_rights()?;
    let directory = PathBuf::from(format!("/tmp/vtax-program-{}", process::id()));
    write_files(&directory, &launch.files)?;
    let program = start(launch, &directory)?;
    await_end(program, control)?;
    let status = end_all(program);
    env::set_current_dir("/")?;
    // What cannot be removed ends with the namespace or container it is in.
    let _ = fs::remove_dir_all(&directory);
    Ok(Some(Told::Ended {
        how: in_words(status),
        succeeded: matches!(status, Some(WaitStatus::Exited(_, 0))),
    }))
}

fn start(launch: &Launch, directory: &PathBuf) -> anyhow::Result<Pid> {
    env::set_current_dir(directory)?;
    let (name, arguments) = launch.argv.split_first().context("no command")?;
    let started = Process::new(name)
        .args(arguments)
        .env_clear()
        .envs([("PATH", SEARCH_PATH), ("LANG", "C.UTF-8")])
        .envs([("HOME", directory), ("TMPDIR", directory)])
        .envs(&launch.environment)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => anyhow!("there is no program {name} here"),
            io::ErrorKind::PermissionDenied => anyhow!("{name} is not executable for everybody"),
            _ => anyhow!("cannot start {name}: {error}"),
        })?;
    Ok(Pid::from_raw(i32::try_from(started.id())?))
}

/// Until the program has ended, or the agent wants it to.
fn await_end(program: Pid, control: &UnixStream) -> anyhow::Result<()> {
    // SAFETY: it takes no pointers; what it returns is a new descriptor of ours.
    let handle = match unsafe { libc::syscall(libc::SYS_pidfd_open, program.as_raw(), 0) } {
        opened @ 0.. => unsafe { OwnedFd::from_raw_fd(i32::try_from(opened)?) },
        _ => return Err(io::Error::last_os_error()).context("cannot watch a program"),
    };
    loop {
        let mut watched = [
            PollFd::new(handle.as_fd(), PollFlags::POLLIN),
            PollFd::new(control.as_fd(), PollFlags::POLLIN),
        ];
        wait(&mut watched, None)?;
        if watched.iter().any(is_ready) {
            return Ok(());
        }
    }
}

/// Ends everything that descends from this process, to which orphans come; returns how the program ended.
fn end_all(program: Pid) -> Option<WaitStatus> {
    let mut found = None;
    loop {
        let listed = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        for child in listed.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            // A child stays until it is waited for, so that its number is nobody else's.
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
        match waitpid(None, None) {
            Ok(status) if status.pid() == Some(program) => found = Some(status),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return found,
        }
    }
}

fn in_words(status: Option<WaitStatus>) -> String {
    match status {
        Some(WaitStatus::Exited(_, code)) => format!("exit status {code}"),
        Some(WaitStatus::Signaled(_, signal, _)) => format!("signal {signal}"),
        _ => "nobody knows how".to_owned(),
    }
}
