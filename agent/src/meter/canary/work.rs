//! # The kinds of work

use std::arch::asm;
use std::arch::x86_64::{_mm_clflush, _mm_mfence};
use std::hint::black_box;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use nix::sched::{CloneFlags, unshare};

use crate::netdevice::bring_up;

const CHAIN_STEPS: u32 = 8_000;
const PARALLEL_STEPS: u32 = 8_000;
const SYSTEM_CALLS: u32 = 100;
const FRAMES: u32 = 8;
const FRAME: [u8; 22] = [0; 22];
/// A frame that was sent is there as the call returns, unless the kernel had no memory for it.
const PATIENCE: Duration = Duration::from_secs(1);
/// Cache lines that loads go through, one of a page each, so that none is fetched because another was.
const LINES: usize = 256;
/// Of the walk through the pages; odd, so that it comes to each.
const STRIDE: usize = 97;

/// Multiplies what was multiplied before; returns how often. It waits for results, whoever shares the core's units.
pub(super) fn chain() -> u32 {
    let mut number = black_box(1_u64);
    for _ in 0..CHAIN_STEPS {
        // A multiplication alone could be done for many steps at once.
        number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(23) ^ 1;
    }
    black_box(number);
    CHAIN_STEPS
}

/// Does eight additions that need nothing of each other; returns how often. It fills the core's units.
pub(super) fn parallel() -> u32 {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [0_u64; 8];
    for _ in 0..PARALLEL_STEPS {
        // SAFETY: it changes these registers alone. A compiler would make fewer and wider steps of additions.
        unsafe {
            asm!(
                "add {a}, 1", "add {b}, 1", "add {c}, 1", "add {d}, 1",
                "add {e}, 1", "add {f}, 1", "add {g}, 1", "add {h}, 1",
                a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
                e = inout(reg) e, f = inout(reg) f, g = inout(reg) g, h = inout(reg) h,
                options(pure, nomem, nostack),
            );
        }
    }
    black_box([a, b, c, d, e, f, g, h]);
    PARALLEL_STEPS
}

/// Enters the kernel and returns; returns how often.
pub(super) fn system_calls() -> u32 {
    for _ in 0..SYSTEM_CALLS {
        // SAFETY: it takes nothing, and always succeeds.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    SYSTEM_CALLS
}

/// Memory whose lines name one another in a ring.
#[derive(Debug)]
pub(super) struct Loads {
    pages: Vec<Page>,
}

/// As a page begins: its own first line.
#[derive(Clone, Debug)]
#[repr(align(4096))]
struct Page {
    next: usize,
}

impl Loads {
    pub(super) fn prepare() -> Self {
        let pages = (0..LINES).map(|page| Page {
            next: (page + STRIDE) % LINES,
        });
        Self {
            pages: pages.collect(),
        }
    }

    /// Drops the lines from all caches, so that loads find none there whoever used them.
    pub(super) fn flush(&self) {
        for page in &self.pages {
            // SAFETY: the line is of this page.
            unsafe { _mm_clflush((&raw const page.next).cast()) };
        }
        // SAFETY: every x86-64 has it.
        unsafe { _mm_mfence() };
    }

    pub(super) fn next(&self, page: usize) -> usize {
        self.pages[page].next
    }

    /// Loads each line once; returns how many.
    pub(super) fn run(&self) -> u32 {
        let mut at = 0;
        for _ in 0..LINES {
            at = self.next(at);
        }
        black_box(at);
        LINES as u32
    }
}

/// A socket in a network namespace of its own, in which nobody else sets anything, that sends to itself.
#[derive(Debug)]
pub(super) struct Frames {
    socket: UdpSocket,
}

impl Frames {
    /// The namespace is the socket's: it ends with it.
    pub(super) fn prepare() -> anyhow::Result<Self> {
        let made = thread::Builder::new()
            .name("canary".to_owned())
            .spawn(|| -> anyhow::Result<UdpSocket> {
                unshare(CloneFlags::CLONE_NEWNET).context("cannot make a network namespace")?;
                bring_up("lo").context("cannot bring up a loopback interface")?;
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                socket.connect(socket.local_addr()?)?;
                socket.set_read_timeout(Some(PATIENCE))?;
                Ok(socket)
            })
            .context("cannot start a thread")?;
        let socket = made.join().expect("it does not panic")?;
        Ok(Self { socket })
    }

    /// Sends and receives frames, one at a time; returns how many.
    pub(super) fn run(&self) -> anyhow::Result<u32> {
        let mut received = FRAME;
        for _ in 0..FRAMES {
            self.socket.send(&FRAME).context("cannot send a frame")?;
            self.socket
                .recv(&mut received)
                .context("cannot receive a frame")?;
        }
        Ok(FRAMES)
    }
}
