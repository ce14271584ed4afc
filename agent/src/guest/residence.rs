//! # Residence: how long this kernel has test frames
//!
//! From when a frame came off one NIC to when it was handed to the driver of another, by the kernel's own time stamps of the
//! same frame. What a queueing discipline holds back is in it, its timer's lateness too; what happens outside the guest is not.
//! A packet socket of all interfaces takes both stamps. It is read when all is over: nothing is woken up meanwhile.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType,
    recvmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::traffic::frame::{FIELDS_BYTES, Identity, MOST_HEADER_BYTES};

/// Room for some thousand frames, each as large as a driver makes it; the kernel doubles it.
const BUFFER_BYTES: usize = 8 << 20;

/// `residence.read`: measured frames that came and left since `residence.open`; null where there are none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ResidenceReadAnswer {
    /// How many frames came and left.
    frames: usize,
    /// The least, in ns.
    min_ns: Option<i64>,
    /// The median, in ns.
    p50_ns: Option<i64>,
    /// The 90th percentile, in ns.
    p90_ns: Option<i64>,
    /// The 99th percentile, in ns.
    p99_ns: Option<i64>,
    /// The greatest, in ns.
    max_ns: Option<i64>,
}

/// A tap of all interfaces of this thread's network namespace.
#[derive(Debug)]
pub(crate) struct Residence(OwnedFd);

/// A frame that passed the tap.
struct Stamped {
    /// None for what is no measured frame.
    frame: Option<Identity>,
    /// By the time of day.
    at_ns: i64,
    leaves: bool,
}

/// When a frame came and when it left.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    came_ns: Option<i64>,
    left_ns: Option<i64>,
}

impl Residence {
    /// Keeps stamped copies of all frames from now on.
    pub(crate) fn open() -> Result<Self, Error> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let tap = socket(
            AddressFamily::Packet,
            SockType::Raw,
            flags,
            SockProtocol::EthAll,
        )
        .context("cannot open a packet socket; it needs root")?;
        // In a user namespace of its own, an agent has what anybody may have: less room, and so fewer frames.
        setsockopt(&tap, sockopt::RcvBufForce, &BUFFER_BYTES)
            .or_else(|_| setsockopt(&tap, sockopt::RcvBuf, &BUFFER_BYTES))
            .context("no room for frames")?;
        setsockopt(&tap, sockopt::ReceiveTimestampns, &true).context("no time stamps of frames")?;
        Ok(Self(tap))
    }

    /// What was seen until now, and the end of it.
    ///
    /// The kernel begins to stamp some time after it is asked to, late on a busy machine. What came before has the time at
    /// which it is read here, and is left out.
    pub(crate) fn read(self) -> Result<ResidenceReadAnswer, Error> {
        self.refuse_more()?;
        let now = clock_gettime(ClockId::CLOCK_REALTIME).context("no time of day")?;
        let mut seen: HashMap<Identity, Seen> = HashMap::new();
        while let Some(stamped) = self.next()? {
            if let Some(identity) = stamped.frame.filter(|_| stamped.at_ns <= nanoseconds(now)) {
                let seen = seen.entry(identity).or_default();
                // A tagged frame passes twice each way, through its VLAN's interface and through the NIC's.
                match stamped.leaves {
                    true => seen.left_ns = Some(stamped.at_ns),
                    false => _ = seen.came_ns.get_or_insert(stamped.at_ns),
                }
            }
        }
        let mut held_ns: Vec<i64> = seen
            .values()
            .filter_map(|seen| Some(seen.left_ns? - seen.came_ns?))
            .collect();
        held_ns.sort_unstable();
        Ok(ResidenceReadAnswer::of(&held_ns))
    }

    /// Has the tap end with what it holds.
    fn refuse_more(&self) -> anyhow::Result<()> {
        let mut nothing = libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: 0,
        };
        let program = libc::sock_fprog {
            len: 1,
            filter: &raw mut nothing,
        };
        // SAFETY: the kernel copies the program, which is one instruction long, within the call.
        let attached = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of_val(&program) as libc::socklen_t,
            )
        };
        Errno::result(attached).context("cannot end the tap")?;
        Ok(())
    }

    /// The oldest copy, if there is one.
    fn next(&self) -> anyhow::Result<Option<Stamped>> {
        let mut bytes = [0; MOST_HEADER_BYTES + FIELDS_BYTES];
        let mut vectors = [IoSliceMut::new(&mut bytes)];
        let mut space = nix::cmsg_space!(TimeSpec);
        let tap = self.0.as_raw_fd();
        let received = recvmsg::<LinkAddr>(tap, &mut vectors, Some(&mut space), MsgFlags::empty());
        let message = match received {
            Err(Errno::EAGAIN) => return Ok(None),
            received => received.context("cannot read frames")?,
        };
        let stamp = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(time) => Some(time),
            _ => None,
        });
        let address = message.address;
        let length = message.bytes;
        Ok(Some(Stamped {
            frame: Identity::of(&bytes[..length]),
            at_ns: nanoseconds(stamp.context("the kernel gave a frame no time stamp")?),
            leaves: address.is_some_and(|from| from.pkttype() == libc::PACKET_OUTGOING),
        }))
    }
}

fn nanoseconds(time: TimeSpec) -> i64 {
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}

impl ResidenceReadAnswer {
    fn of(held_ns: &[i64]) -> Self {
        let last = held_ns.len().saturating_sub(1);
        let quantile = |percent: usize| held_ns.get(last * percent / 100).copied();
        Self {
            frames: held_ns.len(),
            min_ns: quantile(0),
            p50_ns: quantile(50),
            p90_ns: quantile(90),
            p99_ns: quantile(99),
            max_ns: quantile(100),
        }
    }
}
