//! # The receiver: it takes what a sender sends, and counts it
//!
//! One thread serves all flows, so that a guest of one CPU is not full of threads. It sleeps until something comes, without a
//! time limit; closing wakes it.

mod collect;
mod connections;
mod datagrams;
mod flow;
mod ledger;
mod params;
mod sequences;

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use anyhow::Context;
use nix::sys::socket::{Backlog, listen};

pub(crate) use self::collect::{ReceiverCollectAnswer, ReceiverSeriesAnswer};
use self::ledger::Shared;
pub(crate) use self::params::{ReceiverCollectParams, ReceiverOpenParams, ReceiverSeriesParams};
use super::wait::Waker;
use super::{socket, sockopt};
use crate::cpu::pin_this_thread;
use crate::error::Error;
use crate::traffic::interface::Interface;

/// A receiver at work. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Receiver {
    params: ReceiverOpenParams,
    shared: Arc<Shared>,
    /// What it listens on.
    socket: OwnedFd,
    /// Dropped to end the thread.
    waker: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    pub(crate) fn open(params: &ReceiverOpenParams) -> Result<Self, Error> {
        params.check()?;
        let interface = Interface::find("interface", &params.interface)?;
        let local = params.local();
        let socket = socket::open(params.protocol, &interface, local, &params.options)?;
        if !params.protocol.is_datagram() {
            let backlog = Backlog::new(params.flows.get() as i32).context("too many flows")?;
            listen(&socket, backlog).with_context(|| format!("cannot listen at {local}"))?;
        }
        socket::set_nonblocking(&socket).context("cannot set up the receiver's socket")?;
        let ends = UnixStream::pair().and_then(|ends| Ok((ends, socket.try_clone()?)));
        let ((waker, woken), listener) = ends.context("cannot keep a handle of the receiver")?;
        let shared = Arc::new(Shared::new(params));
        let (pinned, is_pinned) = sync_channel(1);
        let thread = thread::Builder::new().name("receiver".to_owned()).spawn({
            let (params, shared) = (params.clone(), Arc::clone(&shared));
            move || {
                // Nobody listens any more where opening was given up.
                let _ = pinned.send(pin_this_thread(params.cpu));
                if let Err(error) = serve(listener, &params, &woken, &shared) {
                    shared.fail(error.to_string());
                }
            }
        });
        let receiver = Self {
            params: params.clone(),
            shared,
            socket,
            waker: Some(waker),
            thread: Some(thread.context("cannot start the receiver's thread")?),
        };
        let cpu = params.cpu;
        is_pinned
            .recv()
            .context("the receiver's thread has ended")?
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        Ok(receiver)
    }

    /// Waits until the flows are drained, then tells what they brought. Setting `abort` ends the wait within milliseconds.
    pub(crate) fn collect(
        &self,
        params: &ReceiverCollectParams,
        abort: &AtomicBool,
    ) -> Result<ReceiverCollectAnswer, Error> {
        params.check(&self.params)?;
        collect::collect(&self.shared, params, || self.buffer_drops(), abort)
    }

    /// What one flow brought over time.
    pub(crate) fn series(
        &self,
        params: &ReceiverSeriesParams,
    ) -> Result<ReceiverSeriesAnswer, Error> {
        collect::series(&self.shared, params)
    }

    fn buffer_drops(&self) -> anyhow::Result<Option<u32>> {
        if !self.params.protocol.is_datagram() {
            return Ok(None);
        }
        let drops = sockopt::buffer_drops(&self.socket);
        Ok(Some(drops.context("cannot read what the socket dropped")?))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.waker = None;
        if let Some(thread) = self.thread.take() {
            // It has said why, if it failed.
            let _ = thread.join();
        }
    }
}

fn serve(
    socket: OwnedFd,
    params: &ReceiverOpenParams,
    waker: &Waker,
    shared: &Shared,
) -> io::Result<()> {
    if params.protocol.is_datagram() {
        datagrams::serve(&socket, params, waker, shared)
    } else {
        connections::serve(&TcpListener::from(socket), params, waker, shared)
    }
}
