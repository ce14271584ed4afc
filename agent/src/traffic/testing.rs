//! For tests: a network of their own, and a socket that sends hand-made frames into it.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::resume_unwind;
use std::process::Command;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};

use super::frame::{Addresses, Departure, Endpoints};
use super::sink::frame::TestFrame;
use crate::mac::MacAddress;

pub(crate) const SOURCE: &str = "src0";
pub(crate) const SINK: &str = "snk0";

/// Both ends of a stream, at one address, be it IPv4 or IPv6.
pub(crate) fn endpoints_at(vlan: Option<u16>, address: &str) -> Endpoints {
    let address: IpAddr = address.parse().unwrap();
    Endpoints {
        source_mac: MacAddress([2; 6]),
        destination_mac: MacAddress([4; 6]),
        vlan,
        addresses: Addresses::of(address, address).unwrap(),
        source_port: 9,
        destination_port: 9,
    }
}

/// Runs `test` in a network namespace with a veth pair from `SOURCE` to `SINK`.
///
/// The namespace belongs to one thread and has no name: it ends with the thread, whatever happens
/// to the test.
pub(crate) fn in_namespace(test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .expect("these tests make network namespaces and need root");
            ip(&["link", "add", SOURCE, "type", "veth", "peer", "name", SINK]);
            for interface in [SOURCE, SINK] {
                ip(&["link", "set", interface, "addrgenmode", "none", "up"]);
            }
            // Until the kernel's linkwatch has seen both ends, the first drops all that it is given, without an error.
            wait_until(|| [SOURCE, SINK].into_iter().all(is_up));
            test();
        });
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
    });
}

/// Waits for what happens soon; fails the test when it does not.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    assert!(comes_about(condition), "waited ten seconds in vain");
}

/// Whether it does within ten seconds.
pub(crate) fn comes_about(condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Runs ip(8) in this thread's namespace and gives its output.
pub(crate) fn ip(arguments: &[&str]) -> String {
    run("ip", arguments)
}

/// Frames to an interface of this thread's namespace that the kernel had no room for in the backlog of a CPU.
pub(crate) fn backlog_drops(interface: &str) -> u64 {
    told_of(interface)["stats64"]["rx"]["dropped"]
        .as_u64()
        .expect("ip tells what was dropped")
}

fn is_up(interface: &str) -> bool {
    told_of(interface)["operstate"] == "UP"
}

fn told_of(interface: &str) -> serde_json::Value {
    let told = ip(&["-json", "-statistics", "link", "show", "dev", interface]);
    let mut links: serde_json::Value = serde_json::from_str(&told).expect("ip prints JSON");
    links[0].take()
}

/// Runs tc(8) in this thread's namespace and gives its output.
pub(crate) fn tc(arguments: &[&str]) -> String {
    run("tc", arguments)
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A test frame of 64 bytes.
pub(crate) fn test_frame(sequence: u32) -> Vec<u8> {
    TestFrame {
        trial: 1,
        phase: 3,
        stream: 0,
        sequence,
        departure: Departure::at(1),
    }
    .to_bytes(64)
}

/// A raw packet socket on an interface.
pub(crate) struct Sender {
    socket: OwnedFd,
    address: libc::sockaddr_ll,
}

impl Sender {
    /// On `SOURCE`.
    pub fn new() -> Self {
        Self::on(SOURCE)
    }

    pub fn on(interface: &str) -> Self {
        // SAFETY: plain system calls on values that outlive them; so in `send`.
        let socket =
            unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        assert!(socket >= 0, "{}", io::Error::last_os_error());
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = if_nametoindex(interface).unwrap() as i32;
        Self {
            socket: unsafe { OwnedFd::from_raw_fd(socket) },
            address,
        }
    }

    pub fn send(&self, frame: &[u8]) {
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
                ptr::from_ref(&self.address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        assert_eq!(sent, frame.len() as isize, "{}", io::Error::last_os_error());
    }
}
