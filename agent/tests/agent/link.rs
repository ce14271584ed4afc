//! # A source's link: a veth pair between two namespaces, and what arrives at its end

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use serde_json::{Value, json};

use crate::network::Namespace;
use crate::process::Agent;

pub const SOURCE_MAC: &str = "02:76:74:00:00:01";
pub const SINK_MAC: &str = "02:76:74:00:00:02";

/// A source's namespace with `src0`, a sink's with `snk0`, and an agent at the source.
pub struct Link {
    pub source: Namespace,
    pub sink: Namespace,
    pub agent: Agent,
}

impl Link {
    pub fn make() -> Self {
        let (source, sink) = (Namespace::make(), Namespace::make());
        source.join("src0", SOURCE_MAC, &sink, "snk0", SINK_MAC);
        let agent = Agent::start(&["--netns", &source.path()]);
        Self {
            source,
            sink,
            agent,
        }
    }

    /// A link whose source cuts trains and sums frames in its kernel, as a wire's far end would see them, and an agent with so
    /// many streams open on it.
    pub fn without_offloads(streams: u8) -> Self {
        let mut link = Self::without_checksums();
        link.agent.call("source.open", open(streams, "src0"));
        link
    }

    /// The same without a stream.
    pub fn without_checksums() -> Self {
        let link = Self::make();
        link.source.switch_checksums_off("src0");
        link
    }

    /// A link with so many streams open on it.
    pub fn with_streams(streams: u8) -> Self {
        let mut link = Self::make();
        link.agent.call("source.open", open(streams, "src0"));
        link
    }

    pub fn received(&self) -> u64 {
        self.sink.rx_packets("snk0")
    }

    /// Waits until the sink has received `frames`.
    pub fn await_frames(&self, frames: u64) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.received() < frames {
            assert!(
                Instant::now() < deadline,
                "{} of {frames} frames arrived",
                self.received()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// What stands between Ethernet and UDP.
#[derive(Clone, Copy, Debug)]
pub struct Encapsulation {
    pub vlan: Option<u16>,
    pub source_ip: &'static str,
    pub destination_ip: &'static str,
    pub least_frame_bytes: usize,
}

pub const IPV4: Encapsulation = Encapsulation {
    vlan: None,
    source_ip: "198.18.0.2",
    destination_ip: "198.18.1.2",
    least_frame_bytes: 64,
};
pub const IPV6: Encapsulation = Encapsulation {
    vlan: None,
    source_ip: "2001:2::2",
    destination_ip: "2001:2:0:1::ffff:2",
    least_frame_bytes: 84,
};

impl Encapsulation {
    pub const ALL: [Self; 4] = [IPV4, IPV6, IPV4.tagged(), IPV6.tagged()];

    const fn tagged(self) -> Self {
        Self {
            vlan: Some(1234),
            least_frame_bytes: self.least_frame_bytes + 4,
            ..self
        }
    }
}

pub fn open(streams: u8, interface: &str) -> Value {
    open_in(&IPV4, streams, interface)
}

pub fn open_in(encapsulation: &Encapsulation, streams: u8, interface: &str) -> Value {
    let stream = |number| {
        json!({
            "stream": number, "interface": interface,
            "source_mac": SOURCE_MAC, "destination_mac": SINK_MAC, "vlan": encapsulation.vlan,
            "source_ip": encapsulation.source_ip, "destination_ip": encapsulation.destination_ip,
            "source_port": 4096, "destination_port": 4097,
        })
    };
    json!({"cpus": [0], "streams": (0..streams).map(stream).collect::<Vec<_>>()})
}

pub fn run(
    mechanism: &str,
    intended_fps: Option<f64>,
    probe_fps: f64,
    phases: &[(&str, f64)],
) -> Value {
    let phase =
        |&(phase, duration_s): &(&str, f64)| json!({"phase": phase, "duration_s": duration_s});
    json!({
        "trial": 7, "frame_bytes": 64, "mechanism": mechanism, "intended_fps": intended_fps, "probe_fps": probe_fps,
        "phases": phases.iter().map(phase).collect::<Vec<_>>(),
    })
}

/// Most frames of one send in a run of one stream.
pub fn longest_burst(reply: &Value) -> u64 {
    let phases = reply["streams"][0]["phases"].as_array().unwrap();
    let bursts = phases
        .iter()
        .map(|phase| phase["longest_burst"].as_u64().unwrap());
    bursts.max().unwrap()
}

/// Sum of a field over all streams and phases of a run's reply.
pub fn total(reply: &Value, field: &str) -> u64 {
    let streams = reply["streams"].as_array().unwrap();
    let phases = streams
        .iter()
        .flat_map(|stream| stream["phases"].as_array().unwrap());
    phases.map(|phase| phase[field].as_u64().unwrap()).sum()
}

/// All frames of a run's reply: a flood's probes are beside its frames, those of a paced load among them.
pub fn all_sent(params: &Value, reply: &Value) -> u64 {
    let beside = if params["intended_fps"].is_null() {
        total(reply, "probes_sent")
    } else {
        0
    };
    total(reply, "frames_sent") + beside
}

/// A socket for all frames that arrive in its namespace, whose reads wait no longer than ten seconds.
pub fn receiver() -> OwnedFd {
    let (family, kind, flags) = (AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC);
    let socket = socket(family, kind, flags, SockProtocol::EthAll).unwrap();
    setsockopt(&socket, sockopt::RcvBufForce, &(64 << 20)).unwrap();
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(10)).unwrap();
    let on = 1_i32;
    // SAFETY: the option's value outlives the call.
    let told = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_AUXDATA,
            (&raw const on).cast(),
            size_of::<i32>() as u32,
        )
    };
    assert_eq!(told, 0, "{}", io::Error::last_os_error());
    socket
}

/// The next frame as it was on the link: the kernel takes its tag out and hands it over beside the frame.
pub fn receive(socket: &OwnedFd) -> Vec<u8> {
    let mut frame = vec![0; 9100];
    let mut beside = [0_u64; 8];
    // SAFETY: zeros are a valid message header; all that it points to outlives the calls.
    let auxiliary: libc::tpacket_auxdata = unsafe {
        let mut vector = libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: frame.len(),
        };
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = beside.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&beside);
        let length = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        assert!(
            length > 0,
            "a frame is missing: {}",
            io::Error::last_os_error()
        );
        frame.truncate(length as usize);
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        assert_eq!((*header).cmsg_type, libc::PACKET_AUXDATA);
        libc::CMSG_DATA(header)
            .cast::<libc::tpacket_auxdata>()
            .read_unaligned()
    };
    if auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
        let tag = [auxiliary.tp_vlan_tpid, auxiliary.tp_vlan_tci];
        frame.splice(12..12, tag.map(u16::to_be_bytes).concat());
    }
    frame
}
