//! # The responder: it answers requests until it is closed
//!
//! Its threads sleep in their sockets, without a time limit; closing shuts the sockets down, which wakes them. Those of SCTP it
//! does not wake: they look up now and then. Whatever is no request gets no answer.

mod tcp;
mod udp;
mod waiters;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};
use nix::sys::socket::{Backlog, listen};
use serde::{Deserialize, Serialize};

use self::waiters::Waiters;
use super::message::{HEADER_BYTES, LEAST_BYTES, ResponseBytes, request_bytes};
use super::options::Options;
use super::socket::{self, Protocol};
use crate::Error;
use crate::cpu::pin_this_thread;
use crate::traffic::interface::Interface;

/// `responder.open`: where to listen, and what to answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenParams {
    cpu: usize,
    protocol: Protocol,
    interface: String,
    address: Ipv4Addr,
    port: u16,
    response_bytes: ResponseBytes,
    /// Of requests that are too short to tell their length. Null where they do tell it.
    #[serde(default)]
    short_message_bytes: Option<usize>,
    #[serde(default)]
    options: Options,
}

impl OpenParams {
    fn check(&self) -> Result<(), Error> {
        socket::check_address("address", self.address)?;
        if self.port == 0 {
            return Err(Error::params("port", "must not be 0"));
        }
        let response_bytes = self.response_bytes.to_request(LEAST_BYTES);
        self.protocol
            .check_bytes("response_bytes", response_bytes)?;
        let short = LEAST_BYTES..HEADER_BYTES;
        if let Some(bytes) = self.short_message_bytes.filter(|it| !short.contains(it)) {
            let (least, most) = (short.start, short.end - 1);
            let problem = format!("{bytes} is not between {least} and {most}");
            return Err(Error::params("short_message_bytes", problem));
        }
        self.options.check(self.protocol)
    }

    /// The length of the request that `start` begins.
    #[inline]
    fn request(&self, start: &[u8]) -> Request {
        match self.short_message_bytes {
            Some(bytes) => Request::Of(bytes),
            None if start.len() < HEADER_BYTES => Request::Unknown,
            None => request_bytes(start).map_or(Request::Foreign, Request::Of),
        }
    }
}

/// What begins with what has come.
#[derive(Debug)]
enum Request {
    /// A request of so many bytes.
    Of(usize),
    /// Too little has come to tell.
    Unknown,
    /// No request.
    Foreign,
}

/// `responder.close`: what came since `responder.open`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    answered: u64,
    /// Datagrams that are no request, and connections broken off since what came on them was none.
    refused: u64,
    /// Answers that the kernel did not take.
    unsent: u64,
    /// Accepted, of TCP and SCTP.
    connections: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.refused += other.refused;
        self.unsent += other.unsent;
        self.connections += other.connections;
    }
}

/// A responder at work. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Responder {
    waiters: Arc<Waiters>,
    thread: Option<JoinHandle<io::Result<Counts>>>,
}

impl Responder {
    pub(crate) fn open(params: &OpenParams) -> Result<Self, Error> {
        params.check()?;
        let interface = Interface::find("interface", &params.interface)?;
        let local = SocketAddrV4::new(params.address, params.port);
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
    pub(crate) fn close(mut self) -> Result<Counts, Error> {
        let ended = self
            .end()
            .ok_or_else(|| anyhow!("the responder has ended"))?;
        Ok(ended.context("the responder ended before it was closed; open it again")?)
    }

    fn end(&mut self) -> Option<io::Result<Counts>> {
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
