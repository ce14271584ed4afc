//! # Waiting for several sockets at once, and for a time

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};

use crate::traffic::clock::{now_ns, sleep_until};

/// Longest wait of a run without a look at whether to end.
pub(super) const LOOK_UP_NS: u64 = 10_000_000;
/// How long before its time a waiter is awake: longer than any ordinary wake-up takes.
const AWAKE_NS: u64 = 200_000;

/// A thread's end of a pair: it has input once the other end is dropped.
pub(super) type Waker = UnixStream;

/// Waits until one of `sockets` is ready, at most until `until_ns`; a signal may end it early, and then none is.
pub(super) fn wait(sockets: &mut [PollFd<'_>], until_ns: Option<u64>) -> nix::Result<()> {
    let left = until_ns.map(|until_ns| until_ns.saturating_sub(now_ns()));
    let limit = left.map(|left_ns| Duration::from_nanos(left_ns).into());
    match ppoll(sockets, limit, None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// What `wait` has found of a socket. An error or a peer's end counts as what it was watched for: the next call on it tells.
pub(super) fn is_ready(socket: &PollFd<'_>) -> bool {
    socket.revents().is_some_and(|found| !found.is_empty())
}

/// Whether `wait` has found an error of a socket.
pub(super) fn has_failed(socket: &PollFd<'_>) -> bool {
    socket
        .revents()
        .is_some_and(|found| found.contains(PollFlags::POLLERR))
}

/// Waits until `time_ns`, at its end without sleep, or until `abort` is set.
pub(super) fn await_time(time_ns: u64, abort: &AtomicBool) {
    loop {
        let now = now_ns();
        if now >= time_ns || abort.load(Ordering::Relaxed) {
            return;
        }
        if time_ns - now > AWAKE_NS {
            sleep_until((time_ns - AWAKE_NS).min(now + LOOK_UP_NS));
        }
    }
}
