//! A tap, whose reader and writer this test is.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;

use super::*;

pub(super) const TAP: &str = "tap0";

/// linux/if_tun.h.
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;

/// A tap of this thread's namespace, up.
pub(super) fn tap() -> File {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .unwrap();
    // SAFETY: an ifreq of zeros is a valid one, and outlives the call.
    let made = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(TAP.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request)
    };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    ip(&["link", "set", TAP, "addrgenmode", "none", "up"]);
    file
}

/// Reads these test frames, and what else there is before and among them.
pub(super) fn read(tap: &mut File, sequences: impl IntoIterator<Item = u32>) {
    let mut read = vec![0; 2048];
    for sent in sequences.into_iter().map(test_frame) {
        while tap.read(&mut read).unwrap() != sent.len() || read[..sent.len()] != sent {}
    }
}

#[test]
#[ignore = "needs root"]
fn what_is_written_to_a_tap_is_followed_from_the_write() {
    in_namespace(|| {
        let mut tap = tap();
        let points = ["write", "arrive", "receive"].map(|hook| point(hook, TAP));
        let stages = opened(&[trail("tx", &points, &["backend", "stack"])], "stamp");
        (0..50).for_each(|sequence| tap.write_all(&test_frame(sequence)).unwrap());
        // A thread is known as a writer from its first frame on.
        await_attributed(&stages, 49);
        let found = collect(&stages);
        assert!(found.stages[0].delays.durations.min_ns.unwrap() > 0);
    });
}

#[test]
#[ignore = "needs root"]
fn what_waits_in_a_tap_waits_for_its_reader() {
    in_namespace(|| {
        let mut tap = tap();
        // A packet socket's frames, bridged into the tap.
        ip(&["link", "add", "br0", "type", "bridge"]);
        ip(&["link", "set", "br0", "addrgenmode", "none", "up"]);
        for port in [SINK, TAP] {
            ip(&["link", "set", port, "master", "br0"]);
        }
        let points = [
            point("receive", SINK),
            point("queue", TAP),
            point("transmit", TAP),
            point("copy", TAP),
            point("free", TAP),
        ];
        let names = ["vswitch", "kernel", "backend", "copy"];
        let (sender, stages) = (
            Sender::new(),
            opened(&[trail("rx", &points, &names)], "stamp"),
        );
        send(&sender, [7]);
        wait_until(|| collect(&stages).points[2].frames == 1);
        std::thread::sleep(std::time::Duration::from_millis(30));
        read(&mut tap, [7]);
        await_attributed(&stages, 1);
        let found = collect(&stages);
        let [vswitch, kernel, backend, copy] = &found.stages[..] else {
            panic!("{found:?}");
        };
        assert!(backend.delays.sum_ns > 30_000_000, "{backend:?}");
        let rest_ns = vswitch.delays.sum_ns + kernel.delays.sum_ns + copy.delays.sum_ns;
        assert_eq!(rest_ns + backend.delays.sum_ns, found.total.sum_ns);
    });
}
