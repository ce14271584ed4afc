//! # Network namespaces for one test
//!
//! A namespace belongs to a thread and has no name, so it is gone when the test is, however that ends.

use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::gettid;
use serde_json::Value;

type Job = Box<dyn FnOnce() + Send>;

pub struct Namespace {
    thread: i32,
    jobs: Sender<Job>,
}

impl Namespace {
    pub fn make() -> Self {
        let (jobs, inbox) = channel::<Job>();
        let (made, maker) = channel();
        thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET)
                .expect("these tests make network namespaces and need root");
            made.send(gettid().as_raw()).unwrap();
            inbox.into_iter().for_each(|job| job());
        });
        let thread = maker.recv().expect("no namespace was made");
        let namespace = Self { thread, jobs };
        namespace.within(|| {
            let _absent_without_ipv6 =
                std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        });
        namespace
    }

    /// For `--netns`.
    pub fn path(&self) -> String {
        format!("/proc/{}/task/{}/ns/net", std::process::id(), self.thread)
    }

    /// Runs `job` in the namespace.
    pub fn within<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        let job = move || done.send(job()).unwrap();
        self.jobs.send(Box::new(job)).unwrap();
        result.recv().expect("the job failed in the namespace")
    }

    pub fn ip(&self, arguments: &str) -> String {
        self.run("ip", arguments)
    }

    pub fn tc(&self, arguments: &str) -> String {
        self.run("tc", arguments)
    }

    fn run(&self, program: &'static str, arguments: &str) -> String {
        let arguments = arguments.to_owned();
        let output = self.within(move || {
            let words = arguments.split_whitespace();
            Command::new(program).args(words).output().unwrap()
        });
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Joins this namespace's interface `name` to `peer` in another, both up.
    ///
    /// Until the kernel's linkwatch has seen both ends, one drops all that it is given, and IPv6 addresses stay tentative.
    pub fn join(&self, name: &str, mac: &str, other: &Self, peer: &str, peer_mac: &str) {
        let to = other.thread;
        self.ip(&format!(
            "link add {name} address {mac} type veth peer name {peer} address {peer_mac} netns {to}"
        ));
        self.ip(&format!("link set {name} up"));
        other.ip(&format!("link set {peer} up"));
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.told_of(name)["operstate"] != "UP" || other.told_of(peer)["operstate"] != "UP" {
            assert!(Instant::now() < deadline, "{name} does not come up");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Leaves frames' checksums, and with them the cutting of trains, to the kernel.
    pub fn switch_checksums_off(&self, interface: &'static str) {
        const ETHTOOL_STXCSUM: u32 = 0x17;
        self.within(move || {
            let any = socket(
                AddressFamily::Inet,
                SockType::Datagram,
                SockFlag::SOCK_CLOEXEC,
                None,
            )
            .unwrap();
            let mut off = [ETHTOOL_STXCSUM, 0];
            // SAFETY: zeros are a valid ifreq; it and the command outlive the call.
            let switched = unsafe {
                let mut request: libc::ifreq = zeroed();
                for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
                    *to = from as libc::c_char;
                }
                request.ifr_ifru.ifru_data = off.as_mut_ptr().cast();
                libc::ioctl(any.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request)
            };
            assert_eq!(switched, 0, "{}", std::io::Error::last_os_error());
        });
    }

    /// Frames that the interface has received.
    pub fn rx_packets(&self, interface: &str) -> u64 {
        self.told_of(interface)["stats64"]["rx"]["packets"]
            .as_u64()
            .unwrap()
    }

    /// Frames that the interface could not hand over: its far end had no room for them.
    pub fn tx_dropped(&self, interface: &str) -> u64 {
        self.told_of(interface)["stats64"]["tx"]["dropped"]
            .as_u64()
            .unwrap()
    }

    fn told_of(&self, interface: &str) -> Value {
        let mut links: Value =
            serde_json::from_str(&self.ip(&format!("-j -s link show {interface}"))).unwrap();
        links[0].take()
    }
}
