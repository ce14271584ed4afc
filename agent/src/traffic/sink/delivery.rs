//! Whether the sink's program may run on two CPUs at once.

use std::io;
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::ptr;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::wire::AttachMode;
use crate::traffic::bpf::can_await_running_programs;

/// How the kernel delivers an interface's frames to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// One at a time, so the program leaves its lock out.
    Serialised,
    /// Perhaps from several CPUs at once.
    Concurrent,
}

impl Delivery {
    /// Native XDP runs in the NAPI context of the frame's queue, so a single queue is serialised.
    /// Generic XDP and tc run on whatever CPU brings the frame.
    pub fn to(interface: &str, mode: AttachMode) -> Self {
        let single_queue = mode == AttachMode::XdpNative
            && receive_queues(interface).is_ok_and(|queues| queues == 1);
        if single_queue && can_await_running_programs() {
            Self::Serialised
        } else {
            Self::Concurrent
        }
    }
}

/// ETHTOOL_GCHANNELS of linux/ethtool.h.
#[repr(C)]
#[derive(Default)]
struct EthtoolChannels {
    command: u32,
    maxima: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// The receive queues that the interface uses now.
fn receive_queues(interface: &str) -> io::Result<u32> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    let mut channels = EthtoolChannels {
        command: ETHTOOL_GCHANNELS,
        ..Default::default()
    };
    // SAFETY: all zero is a valid ifreq; it and the channels outlive the call.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = ptr::from_mut(&mut channels).cast();
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(channels.receive + channels.combined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::testing::{SINK, SOURCE, in_namespace, ip};

    #[test]
    #[ignore = "needs root"]
    fn only_native_xdp_on_one_queue_is_serialised() {
        in_namespace(|| {
            assert_eq!(
                Delivery::to(SINK, AttachMode::XdpNative),
                Delivery::Serialised
            );
            assert_eq!(
                Delivery::to(SINK, AttachMode::XdpGeneric),
                Delivery::Concurrent
            );
            assert_eq!(Delivery::to(SINK, AttachMode::Tc), Delivery::Concurrent);

            ip(&["link", "del", SOURCE]);
            let queues = ["numrxqueues", "2", "numtxqueues", "2"];
            ip(&[
                &["link", "add", SOURCE],
                &queues[..],
                &["type", "veth", "peer", "name", SINK],
                &queues[..],
            ]
            .concat());
            assert_eq!(
                Delivery::to(SINK, AttachMode::XdpNative),
                Delivery::Concurrent
            );
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn an_unknown_number_of_queues_is_taken_for_several() {
        in_namespace(|| {
            assert_eq!(
                Delivery::to("lo", AttachMode::XdpNative),
                Delivery::Concurrent
            )
        });
    }
}
