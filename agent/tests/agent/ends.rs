//! # Two ends on a veth pair, with an agent at each

use std::net::TcpStream;
use std::time::Duration;

use crate::fuzz::{SINK_MAC, SOURCE_MAC};
use crate::network::Namespace;
use crate::process::Agent;

pub const NEAR: &str = "198.18.0.2";
pub const FAR: &str = "198.18.0.3";
pub const PORT: u16 = 5000;
pub const AT: (&str, u16) = (FAR, PORT);

/// Two namespaces with addresses, and an agent in each.
pub struct Ends {
    pub near: Namespace,
    pub far: Namespace,
    pub requester: Agent,
    pub responder: Agent,
}

impl Ends {
    pub fn make() -> Self {
        let (near, far) = (Namespace::make(), Namespace::make());
        near.join("src0", SOURCE_MAC, &far, "snk0", SINK_MAC);
        near.ip(&format!("addr add {NEAR}/24 dev src0"));
        far.ip(&format!("addr add {FAR}/24 dev snk0"));
        Self {
            requester: Agent::start(&["--netns", &near.path()]),
            responder: Agent::start(&["--netns", &far.path()]),
            near,
            far,
        }
    }

    /// A connection from the near end.
    pub fn connect(&self) -> TcpStream {
        let stream = self.near.within(|| TcpStream::connect(AT)).unwrap();
        let patience = Some(Duration::from_secs(10));
        stream.set_read_timeout(patience).unwrap();
        stream
    }
}

/// Whether the kernel has it, built in or loaded.
pub fn has_sctp() -> bool {
    let protocols = std::fs::read_to_string("/proc/net/protocols").unwrap();
    protocols.lines().any(|line| line.starts_with("SCTP "))
}

/// Sockets of this thread's namespace that wait for a peer.
pub fn listening() -> usize {
    let of = |table: &str, state: &str| {
        let text = std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap();
        let states = text
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().nth(3));
        states.filter(|found| *found == Some(state)).count()
    };
    of("tcp", "0A") + of("udp", "07")
}
