//! # Answers to datagrams

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockaddrIn, recvfrom, sendto};

use super::params::{Request, ResponderCloseAnswer, ResponderOpenParams};
use crate::endpoint::message::{GREATEST_BYTES, answer};

/// Answers whoever asks, until the socket is shut down.
pub(super) fn serve(
    socket: &OwnedFd,
    params: &ResponderOpenParams,
) -> io::Result<ResponderCloseAnswer> {
    let mut buffer = vec![0; GREATEST_BYTES];
    let mut counts = ResponderCloseAnswer::default();
    loop {
        params.options.poll_busily(socket);
        let (length, from) = match recvfrom::<SockaddrIn>(socket.as_raw_fd(), &mut buffer) {
            Ok((length, Some(from))) => (length, from),
            // A socket that was shut down gives datagrams from nowhere.
            Ok((_, None)) => return Ok(counts),
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        match params.request(&buffer[..length]) {
            Request::Of(bytes) if bytes == length => {}
            _ => {
                counts.refused += 1;
                continue;
            }
        }
        let response_bytes = params.response_bytes.to_request(length);
        let response = answer(&mut buffer, length, response_bytes);
        match sendto(socket.as_raw_fd(), response, &from, MsgFlags::empty()) {
            Ok(_) => counts.answered += 1,
            Err(_) => counts.unsent += 1,
        }
    }
}
