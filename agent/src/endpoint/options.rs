//! # How sockets are to behave

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, ensure};
use nix::errno::Errno;
use nix::poll::PollFd;
use nix::sys::socket::{GetSockOpt, MsgFlags, SetSockOpt, getsockopt, recv, setsockopt, sockopt};
use schemars::JsonSchema;
use serde::Deserialize;

use super::protocol::Protocol;
use super::sockopt as raw;
use super::wait::{is_ready, wait};
use crate::api::bounds::{
    GREATEST_MSS_BYTES, GREATEST_SOCKET_BUFFER_BYTES, LEAST_MSS_BYTES, LEAST_SOCKET_BUFFER_BYTES,
    LONGEST_BUSY_POLL_US, LONGEST_CONGESTION_NAME,
};
use crate::api::values::Whole;
use crate::error::Error;
use crate::traffic::clock::now_ns;

/// Of linux/sctp.h, which the libc crate lacks.
const SCTP_NODELAY: libc::c_int = 3;
const SCTP_MAXSEG: libc::c_int = 13;

/// `struct sctp_assoc_value`.
#[derive(Clone, Copy)]
#[repr(C)]
struct OfAssociation {
    association: i32,
    value: u32,
}

/// What the kernel is asked for, of which it takes twice.
type BufferBytes = Whole<usize, LEAST_SOCKET_BUFFER_BYTES, GREATEST_SOCKET_BUFFER_BYTES>;

/// How a socket is to behave; those of the two ends are set apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SocketOptions {
    /// TCP and SCTP send at once, however little there is (no Nagle).
    no_delay: bool,
    /// How long an end that waits looks for input before it sleeps, in µs. It burns the CPU meanwhile, and saves being
    /// woken.
    pub(super) busy_poll_us: Whole<u64, 0, LONGEST_BUSY_POLL_US>,
    /// Size of the send buffer, in bytes; null for the default of the kernel.
    send_buffer_bytes: Option<BufferBytes>,
    /// Size of the receive buffer, in bytes; null for the default of the kernel.
    receive_buffer_bytes: Option<BufferBytes>,
    /// TCP's congestion control by its name; null for the default of the kernel.
    #[schemars(length(min = 1, max = LONGEST_CONGESTION_NAME))]
    congestion: Option<String>,
    /// Greatest segment of TCP, or piece of a message in one SCTP packet, in bytes; null for the default of the kernel.
    mss_bytes: Option<Whole<u32, LEAST_MSS_BYTES, GREATEST_MSS_BYTES>>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            no_delay: true,
            busy_poll_us: Whole::LEAST,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            congestion: None,
            mss_bytes: None,
        }
    }
}

impl SocketOptions {
    /// Whether sockets of `protocol` can behave so.
    pub(super) fn check(&self, protocol: Protocol) -> Result<(), Error> {
        if let Some(name) = &self.congestion {
            check_congestion(protocol, name)?;
        }
        match self.mss_bytes {
            Some(_) if protocol.is_datagram() => {
                Err(Error::params("options.mss_bytes", "udp has no segments"))
            }
            _ => Ok(()),
        }
    }

    /// Waits until one of `sockets` has input; looks for it as long as asked for before it sleeps.
    pub(super) fn wait_for_input(&self, sockets: &mut [PollFd<'_>]) -> nix::Result<()> {
        if self.busy_poll_us.get() > 0 {
            let end_ns = now_ns() + self.busy_poll_us.get() * 1000;
            while now_ns() < end_ns {
                wait(sockets, Some(0))?;
                if sockets.iter().any(is_ready) {
                    return Ok(());
                }
            }
        }
        wait(sockets, None)
    }

    /// Looks for input as long as asked for. Whoever receives next finds it, or sleeps.
    #[inline]
    pub(super) fn poll_busily(&self, socket: &impl AsRawFd) {
        if self.busy_poll_us.get() == 0 {
            return;
        }
        let end_ns = now_ns() + self.busy_poll_us.get() * 1000;
        let look = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        while recv(socket.as_raw_fd(), &mut [0], look) == Err(nix::Error::EAGAIN) {
            if now_ns() >= end_ns {
                break;
            }
        }
    }
}

fn check_congestion(protocol: Protocol, name: &str) -> Result<(), Error> {
    let problem = if protocol != Protocol::Tcp {
        "is tcp's alone".to_owned()
    } else if name.is_empty()
        || name.len() as u64 > LONGEST_CONGESTION_NAME
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    {
        format!("{name:?} is not a name of at most {LONGEST_CONGESTION_NAME} letters and digits")
    } else {
        return Ok(());
    };
    Err(Error::params("options.congestion", problem))
}

/// Has the socket behave so.
pub(super) fn apply(
    options: &SocketOptions,
    protocol: Protocol,
    socket: &OwnedFd,
) -> anyhow::Result<()> {
    if let Some(bytes) = options.send_buffer_bytes {
        let forced = setsockopt(socket, sockopt::SndBufForce, &bytes.get());
        within_bounds(socket, forced, sockopt::SndBuf, bytes.get())
            .context("options.send_buffer_bytes: bounded by net.core.wmem_max of the host")?;
    }
    if let Some(bytes) = options.receive_buffer_bytes {
        let forced = setsockopt(socket, sockopt::RcvBufForce, &bytes.get());
        within_bounds(socket, forced, sockopt::RcvBuf, bytes.get())
            .context("options.receive_buffer_bytes: bounded by net.core.rmem_max of the host")?;
    }
    let set = || -> nix::Result<()> {
        match protocol {
            Protocol::Tcp => {
                // What an earlier connection left in TIME-WAIT does not hold the port.
                setsockopt(socket, sockopt::ReuseAddr, &true)?;
                setsockopt(socket, sockopt::TcpNoDelay, &options.no_delay)?;
                if let Some(bytes) = options.mss_bytes {
                    setsockopt(socket, sockopt::TcpMaxSeg, &bytes.get())?;
                }
            }
            Protocol::Sctp => apply_to_sctp(socket, options)?,
            Protocol::Udp => {}
        }
        Ok(())
    };
    set().context("cannot set the options of a socket; check `options`")?;
    let Some(name) = &options.congestion else {
        return Ok(());
    };
    setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name)).with_context(|| {
        format!(
            "options.congestion: cannot have `{name}`; see net.ipv4.tcp_available_congestion_control, and load the module \
             tcp_{name}"
        )
    })
}

/// Asks for a buffer as anybody may where it could not be had by force, as in a container whose root is not the host's.
fn within_bounds<Buffer>(
    socket: &OwnedFd,
    forced: nix::Result<()>,
    buffer: Buffer,
    bytes: usize,
) -> anyhow::Result<()>
where
    Buffer: SetSockOpt<Val = usize> + GetSockOpt<Val = usize>,
{
    if forced != Err(Errno::EPERM) {
        return Ok(forced?);
    }
    setsockopt(socket, buffer, &bytes)?;
    // The kernel takes twice what it is asked for.
    let most = getsockopt(socket, buffer)? / 2;
    ensure!(
        most >= bytes,
        "this guest may have {most} bytes, not {bytes}"
    );
    Ok(())
}

fn apply_to_sctp(socket: &OwnedFd, options: &SocketOptions) -> nix::Result<()> {
    let no_delay = libc::c_int::from(options.no_delay);
    raw::set(socket, libc::IPPROTO_SCTP, SCTP_NODELAY, no_delay)?;
    if let Some(bytes) = options.mss_bytes {
        let greatest = OfAssociation {
            association: 0,
            value: bytes.get(),
        };
        raw::set(socket, libc::IPPROTO_SCTP, SCTP_MAXSEG, greatest)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    fn problem(protocol: Protocol, options: Value) -> String {
        #[derive(Deserialize)]
        struct Params {
            options: SocketOptions,
        }
        let read = read_value::<Params>(json!({"options": options}));
        let checked = read.and_then(|params| params.options.check(protocol));
        checked.map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn options_within_the_bounds_are_accepted() {
        for (protocol, options) in [
            (Protocol::Udp, json!({})),
            (
                Protocol::Tcp,
                json!({"congestion": "cubic", "mss_bytes": 88}),
            ),
            (
                Protocol::Tcp,
                json!({"congestion": "bpf_cubic-2", "no_delay": false}),
            ),
            (
                Protocol::Sctp,
                json!({"mss_bytes": 1452, "receive_buffer_bytes": 4096}),
            ),
        ] {
            assert_eq!(problem(protocol, options), "none");
        }
    }

    #[test]
    fn options_beyond_the_bounds_or_of_another_protocol_are_refused_by_name() {
        for (protocol, options, expected) in [
            (
                Protocol::Tcp,
                json!({"congestion": ""}),
                "options.congestion: \"\"",
            ),
            (
                Protocol::Tcp,
                json!({"congestion": "a/b"}),
                "options.congestion: \"a/b\"",
            ),
            (
                Protocol::Tcp,
                json!({"congestion": "x".repeat(16)}),
                "options.congestion: \"xxx",
            ),
            (
                Protocol::Udp,
                json!({"congestion": "cubic"}),
                "options.congestion: is tcp's",
            ),
            (
                Protocol::Sctp,
                json!({"congestion": "cubic"}),
                "options.congestion: is tcp's",
            ),
            (
                Protocol::Tcp,
                json!({"mss_bytes": 87}),
                "options.mss_bytes: 87",
            ),
            (
                Protocol::Sctp,
                json!({"mss_bytes": 32_768}),
                "options.mss_bytes: 32768",
            ),
            (
                Protocol::Udp,
                json!({"mss_bytes": 1000}),
                "options.mss_bytes: udp",
            ),
            (
                Protocol::Udp,
                json!({"receive_buffer_bytes": 4095}),
                "options.receive_buffer_bytes: 4095",
            ),
        ] {
            let problem = problem(protocol, options);
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}
