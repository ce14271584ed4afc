//! # Answers on connections
//!
//! Each connection has a thread of its own, and one request under way: a peer that sends more, or what is no request, has its
//! connection broken off.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::thread::{self, Scope};

use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeVal;

use super::params::{Request, ResponderCloseAnswer, ResponderOpenParams};
use super::waiters::Waiters;
use crate::endpoint::message::{GREATEST_BYTES, answer};
use crate::endpoint::protocol::Protocol;

/// Further ones are broken off at once.
const MOST_CONNECTIONS: usize = 64;
/// Longest wait in a socket of SCTP without a look at whether to end: rarely, since it wakes a CPU that is measured.
const LOOK_UP_US: libc::suseconds_t = 200_000;

/// Has waits for input end where being shut down would not end them.
pub(super) fn limit_waits(socket: &impl AsFd, protocol: Protocol) -> nix::Result<()> {
    match protocol {
        Protocol::Sctp => setsockopt(
            socket,
            sockopt::ReceiveTimeout,
            &TimeVal::new(0, LOOK_UP_US),
        ),
        Protocol::Tcp | Protocol::Udp => Ok(()),
    }
}

/// Serves all who connect, until the waiters are closed.
pub(super) fn serve(
    listener: &TcpListener,
    params: &ResponderOpenParams,
    waiters: &Waiters,
) -> io::Result<ResponderCloseAnswer> {
    let counts = Mutex::new(ResponderCloseAnswer::default());
    thread::scope(|scope| {
        let ended = accept_all(scope, listener, params, waiters, &counts);
        waiters.close();
        ended
    })?;
    Ok(counts
        .into_inner()
        .unwrap_or_else(|poison| poison.into_inner()))
}

fn accept_all<'scope>(
    scope: &'scope Scope<'scope, '_>,
    listener: &TcpListener,
    params: &'scope ResponderOpenParams,
    waiters: &'scope Waiters,
    counts: &'scope Mutex<ResponderCloseAnswer>,
) -> io::Result<()> {
    let count = |more| {
        counts
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
            .add(more)
    };
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(_) if waiters.is_closed() => return Ok(()),
            Err(error) if is_of_the_peer(&error) => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        count(ResponderCloseAnswer {
            connections: 1,
            ..ResponderCloseAnswer::default()
        });
        // One of the waiters is the listener.
        if waiters.len() > MOST_CONNECTIONS {
            continue;
        }
        limit_waits(&stream, params.protocol)?;
        let Some(waiter) = waiters.enter(stream.as_fd())? else {
            return Ok(());
        };
        thread::Builder::new().spawn_scoped(scope, move || {
            count(serve_connection(&stream, params, waiters));
            drop(waiter);
        })?;
    }
}

/// Whether one connection failed, and not the listener.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}

/// Answers until the peer is gone or breaks the protocol.
fn serve_connection(
    mut stream: &TcpStream,
    params: &ResponderOpenParams,
    waiters: &Waiters,
) -> ResponderCloseAnswer {
    let mut buffer = vec![0; GREATEST_BYTES];
    let mut counts = ResponderCloseAnswer::default();
    loop {
        let message_bytes = match read_request(stream, params, waiters, &mut buffer) {
            Ok(Some(message_bytes)) => message_bytes,
            Ok(None) => return counts,
            Err(_) => {
                counts.refused += 1;
                return counts;
            }
        };
        let response_bytes = params.response_bytes.to_request(message_bytes);
        if stream
            .write_all(answer(&mut buffer, message_bytes, response_bytes))
            .is_err()
        {
            counts.unsent += 1;
            return counts;
        }
        counts.answered += 1;
    }
}

/// Reads one request, however it arrives, and returns its length; None where the peer ended before it.
fn read_request(
    mut stream: &TcpStream,
    params: &ResponderOpenParams,
    waiters: &Waiters,
    buffer: &mut [u8],
) -> io::Result<Option<usize>> {
    let mut filled = 0;
    loop {
        params.options.poll_busily(stream);
        match stream.read(&mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(more) => filled += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock && !waiters.is_closed() => continue,
            Err(_) if filled == 0 => return Ok(None),
            Err(error) => return Err(error),
        }
        match params.request(&buffer[..filled]) {
            Request::Of(message_bytes) if message_bytes == filled => return Ok(Some(filled)),
            Request::Of(message_bytes) if message_bytes > filled => {}
            Request::Unknown => {}
            Request::Of(_) | Request::Foreign => return Err(ErrorKind::InvalidData.into()),
        }
    }
}
