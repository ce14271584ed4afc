//! # A hop of the ring: a message's way from one relay to the next
//!
//! Of a fresh connection the receiving end closes first, and the sending one waits for that: so TIME-WAIT is the listening
//! port's, where the next connection of the same two ports may take its place (RFC 6191), and not the sender's, which
//! would be out of ports after a second.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::socket::{
    Backlog, MsgFlags, SockFlag, SockaddrIn, accept4, connect, listen, recv, send,
};

use super::params::{Connection, RelayPath};
use super::sample::{Failure, RelayStatus};
use crate::endpoint::options::SocketOptions;
use crate::endpoint::socket::{self, limit_waits};
use crate::error::Error;
use crate::traffic::interface::Interface;

/// The end at which messages come.
#[derive(Debug)]
pub(super) struct Incoming {
    listener: OwnedFd,
    /// Of datagrams the listener itself is read.
    is_datagram: bool,
    connection: Connection,
    stream: Option<OwnedFd>,
}

/// The end by which messages leave.
#[derive(Debug)]
pub(super) struct Outgoing {
    way: RelayPath,
    interface: Interface,
    options: SocketOptions,
    next: SockaddrIn,
    socket: Option<Sending>,
}

#[derive(Debug)]
struct Sending {
    socket: OwnedFd,
    is_connected: bool,
}

impl Incoming {
    pub(super) fn open(way: &RelayPath, interface: &Interface) -> Result<Self, Error> {
        let local = way.local();
        let listener = socket::open(way.protocol, interface, local, &SocketOptions::default())?;
        let is_datagram = way.protocol.is_datagram();
        limit_waits(&listener, Duration::from_millis(way.timeout_ms.get()))
            .and_then(|()| match is_datagram {
                true => Ok(()),
                false => listen(&listener, Backlog::MAXALLOWABLE),
            })
            .with_context(|| format!("cannot listen at {local}"))?;
        Ok(Self {
            listener,
            is_datagram,
            connection: way.connection,
            stream: None,
        })
    }

    /// Fills `message` with the next one that comes, which has exactly its length.
    #[inline]
    pub(super) fn receive(&mut self, message: &mut Vec<u8>) -> Result<(), Failure> {
        let length = message.len();
        // Room to tell one that is too long, where messages are apart from each other.
        let room = match (self.is_datagram, self.connection) {
            (false, Connection::Persistent) => length,
            _ => length + 1,
        };
        message.resize(room, 0);
        let filled = self.fill(message, length);
        message.resize(length, 0);
        match filled? {
            filled if filled == length => Ok(()),
            0 => Err(Failure::new(
                RelayStatus::Ended,
                "the connection ended without a message",
            )),
            filled if filled < length => {
                let problem = format!("half a message came: {filled} of {length} bytes");
                Err(Failure::new(RelayStatus::Broken, problem))
            }
            _ => Err(Failure::new(
                RelayStatus::Garbage,
                "a message came that is too long",
            )),
        }
    }

    /// How many bytes came; fewer than `length` where there will be no more.
    #[inline]
    fn fill(&mut self, buffer: &mut [u8], length: usize) -> Result<usize, Failure> {
        if self.is_datagram {
            return Ok(uninterrupted(|| {
                recv(self.listener.as_raw_fd(), buffer, MsgFlags::empty())
            })?);
        }
        let stream = match &self.stream {
            Some(stream) => stream.as_raw_fd(),
            None => {
                let flags = SockFlag::SOCK_CLOEXEC;
                let accepted = uninterrupted(|| accept4(self.listener.as_raw_fd(), flags))?;
                // SAFETY: the kernel has just made it, for nobody else.
                self.stream
                    .insert(unsafe { OwnedFd::from_raw_fd(accepted) })
                    .as_raw_fd()
            }
        };
        let mut filled = 0;
        while filled < length {
            match uninterrupted(|| recv(stream, &mut buffer[filled..], MsgFlags::empty())) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(_) if filled > 0 => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(filled)
    }

    /// Whether somebody is connected.
    pub(super) fn is_connected(&self) -> bool {
        self.stream.is_some()
    }

    /// Ends the connection that a message came by, or one that brings no more.
    #[inline]
    pub(super) fn close(&mut self) {
        self.stream = None;
    }
}

impl Outgoing {
    pub(super) fn new(way: &RelayPath, interface: Interface) -> Self {
        Self {
            way: way.clone(),
            interface,
            options: SocketOptions::default(),
            next: SockaddrIn::from(way.next()),
            socket: None,
        }
    }

    /// Makes the socket that the next message is sent by; connects nothing.
    #[inline]
    pub(super) fn prepare(&mut self) -> Result<(), Failure> {
        if self.socket.is_none() {
            let protocol = self.way.protocol;
            let socket = socket::open_unplaced(protocol, &self.interface, &self.options)
                .map_err(|error| Failure::new(RelayStatus::Refused, error.to_string()))?;
            limit_waits(&socket, Duration::from_millis(self.way.timeout_ms.get()))?;
            let is_connected = false;
            self.socket = Some(Sending {
                socket,
                is_connected,
            });
        }
        Ok(())
    }

    /// Sends `message`, over a new connection where there is none, or none any more.
    #[inline]
    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        let was_connected = self.socket.as_ref().is_some_and(|it| it.is_connected);
        match self.try_send(message) {
            Err(_) if was_connected => {
                self.close();
                self.try_send(message)
            }
            other => other,
        }
    }

    #[inline]
    fn try_send(&mut self, message: &[u8]) -> Result<(), Failure> {
        self.prepare()?;
        let Some(sending) = &mut self.socket else {
            unreachable!("it is prepared")
        };
        let socket = sending.socket.as_raw_fd();
        if !sending.is_connected {
            connect(socket, &self.next).map_err(Failure::of_connecting)?;
            sending.is_connected = true;
        }
        match uninterrupted(|| send(socket, message, MsgFlags::MSG_NOSIGNAL))? {
            sent if sent == message.len() => Ok(()),
            _ => Err(Failure::new(
                RelayStatus::Broken,
                "the kernel took half a message",
            )),
        }
    }

    /// Waits until the receiving end has closed, and closes.
    #[inline]
    pub(super) fn finish(&mut self) {
        if let Some(sending) = self.socket.take() {
            if !self.way.protocol.is_datagram() {
                // Whatever comes, the connection is over.
                let _ = recv(sending.socket.as_raw_fd(), &mut [0], MsgFlags::empty());
            }
        }
    }

    /// Closes at once.
    pub(super) fn close(&mut self) {
        self.socket = None;
    }
}

#[inline]
fn uninterrupted<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}
