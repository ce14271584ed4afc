//! # A relay's own process
//!
//! Its standard input is its end of a pair of sockets: lines of JSON from the agent that started it, and to that.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};

use super::forwarder::Forwarder;
use super::master::Master;
use super::params::{RelayGoParams, RelayLoad, RelayMode, RelayParams};
use super::sample::Run;
use crate::cpu::{allowed_cpus, pin_this_thread};
use crate::error::Error;

/// What a relay tells its agent.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Told {
    /// It listens.
    Ready,
    /// It cannot begin: why.
    Failed(String),
    /// It has not passed on what came: why.
    Refused(String),
    Ran(Run),
}

/// Does what the agent says until that is gone.
pub fn serve() -> anyhow::Result<()> {
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut lines = BufReader::new(control.try_clone()?).lines();
    let mut next = || lines.next().transpose();
    let first = next()?.context("the agent is gone")?;
    let params: RelayParams = serde_json::from_str(&first)?;
    match params.mode {
        RelayMode::Forwarder => {
            let forwarder = match open_forwarder(&params) {
                Ok(forwarder) => forwarder,
                Err(error) => return tell(&control, &Told::Failed(error.to_string())),
            };
            tell(&control, &Told::Ready)?;
            forwarder.run(|problem| {
                // An agent that is gone takes its relays with it.
                let _ = tell(&control, &Told::Refused(problem));
            })
        }
        RelayMode::Master => {
            let mut master = match pin(&params).and_then(|()| Master::open(&params)) {
                Ok(master) => master,
                Err(error) => return tell(&control, &Told::Failed(error.to_string())),
            };
            tell(&control, &Told::Ready)?;
            while let Some(line) = next()? {
                let params: RelayGoParams = serde_json::from_str(&line)?;
                tell(&control, &Told::Ran(master.run(&params)))?;
            }
            Ok(())
        }
    }
}

fn open_forwarder(params: &RelayParams) -> Result<Forwarder, Error> {
    pin(params)?;
    match &params.load {
        RelayLoad::Network(way) => Forwarder::open(way, params.message_bytes.get()),
        _ => Err(anyhow!("a forwarder has nothing to do without a network").into()),
    }
}

fn pin(params: &RelayParams) -> Result<(), Error> {
    if let Some(number) = params.cpu {
        let cpus = allowed_cpus().context("cannot tell on which CPUs a relay may be")?;
        let cpu = cpus[number % cpus.len()];
        pin_this_thread(cpu).with_context(|| format!("cannot stay on CPU {cpu}"))?;
    }
    Ok(())
}

fn tell(mut control: &UnixStream, told: &Told) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(told)?;
    line.push(b'\n');
    Ok(control.write_all(&line)?)
}
