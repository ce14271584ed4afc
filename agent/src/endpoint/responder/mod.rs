//! # The responder: it answers requests until it is closed
//!
//! Its threads sleep in their sockets, without a time limit; closing shuts the sockets down, which wakes them. Those of SCTP it
//! does not wake: they look up now and then. Whatever is no request gets no answer.

mod params;
mod tcp;
mod udp;
mod waiters;

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};
use nix::sys::socket::{Backlog, listen};

pub(crate) use self::params::{ResponderCloseAnswer, ResponderOpenParams};
use self::waiters::Waiters;
use super::protocol::Protocol;
use super::socket;
use crate::cpu::pin_this_thread;
use crate::error::Error;
use crate::traffic::interface::Interface;

/// A responder at work. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Responder {
    waiters: Arc<Waiters>,
    thread: Option<JoinHandle<io::Result<ResponderCloseAnswer>>>,
}

impl Responder {
    pub(crate) fn open(params: &ResponderOpenParams) -> Result<Self, Error> {
        params.check()?;
        let interface = Interface::find("interface", &params.interface)?;
        let local = params.local();
        let socket = socket::open(params.protocol, &interface, local, &params.options)?;
        if !params.protocol.is_datagram() {
            tcp::limit_waits(&socket, params.protocol)
                .and_then(|()| listen(&socket, Backlog::MAXALLOWABLE))
                .with_context(|| format!("cannot listen at {local}"))?;
        }
        let waiters = Arc::new(Waiters::default());
        waiters
            .add(socket.as_fd())
            .context("cannot keep a handle of the responder's socket")?;
        let (params, shared) = (params.clone(), Arc::clone(&waiters));
        let (pinned, is_pinned) = sync_channel(1);
        let cpu = params.cpu;
        let serve = move || {
            // Nobody listens any more where opening was given up.
            let _ = pinned.send(pin_this_thread(params.cpu));
            match params.protocol {
                Protocol::Tcp | Protocol::Sctp => {
                    tcp::serve(&TcpListener::from(socket), &params, &shared)
                }
                Protocol::Udp => udp::serve(&socket, &params),
            }
        };
        let thread = thread::Builder::new()
            .name("responder".to_owned())
            .spawn(serve)
            .context("cannot start the responder's thread")?;
        let responder = Self {
            waiters,
            thread: Some(thread),
        };
        is_pinned
            .recv()
            .context("the responder's thread has ended")?
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        Ok(responder)
    }

    /// Ends it and tells what it has done.
    pub(crate) fn close(mut self) -> Result<ResponderCloseAnswer, Error> {
        let ended = self
            .end()
            .ok_or_else(|| anyhow!("the responder has ended"))?;
        Ok(ended.context("the responder ended before it was closed; open it again")?)
    }

    fn end(&mut self) -> Option<io::Result<ResponderCloseAnswer>> {
        self.waiters.close();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // Why it may have ended before is of no more use.
        let _ = self.end();
    }
}
