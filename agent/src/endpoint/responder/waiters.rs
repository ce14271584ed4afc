//! # Sockets in which threads wait

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard};

use nix::sys::socket::{Shutdown, shutdown};

/// Handles of all sockets in use, by which to wake their threads for good.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    last_key: u64,
    sockets: HashMap<u64, OwnedFd>,
}

/// A socket among the waiters, until this is dropped.
#[derive(Debug)]
pub(super) struct Waiter<'a> {
    waiters: &'a Waiters,
    key: u64,
}

impl Waiters {
    /// Adds a socket for as long as the waiters last; false once they are closed.
    pub(super) fn add(&self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(self.insert(socket)?.is_some())
    }

    /// Adds a socket that may leave before; None once they are closed.
    pub(super) fn enter(&self, socket: BorrowedFd<'_>) -> io::Result<Option<Waiter<'_>>> {
        let key = self.insert(socket)?;
        Ok(key.map(|key| Waiter { waiters: self, key }))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    pub(super) fn len(&self) -> usize {
        self.state().sockets.len()
    }

    /// Shuts all sockets down, those that are about to be added as well.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        for socket in state.sockets.values() {
            // It complains of a socket without a peer, and wakes those that wait in it all the same.
            let _ = shutdown(socket.as_raw_fd(), Shutdown::Both);
        }
    }

    fn insert(&self, socket: BorrowedFd<'_>) -> io::Result<Option<u64>> {
        let socket = socket.try_clone_to_owned()?;
        let mut state = self.state();
        if state.is_closed {
            return Ok(None);
        }
        state.last_key += 1;
        let key = state.last_key;
        state.sockets.insert(key, socket);
        Ok(Some(key))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.waiters.state().sockets.remove(&self.key);
    }
}
