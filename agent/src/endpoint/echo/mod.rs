//! # The echo: it asks a kernel itself, by ICMP
//!
//! `echo.open` names the way, `echo.go` asks through a warm-up and then through what is measured, `echo.collect` tells of that.
//! The kernel at the remote address answers.

mod arrival;
mod packet;
mod params;
mod tally;

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, bind, connect, send,
    setsockopt, socket, sockopt,
};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::params::EchoOpenParams;
pub(crate) use self::tally::EchoCollectAnswer;
use self::tally::Tally;
use super::message::Id;
use super::run::{GoParams, Times};
use super::sockopt as raw;
use super::wait::{LOOK_UP_NS, wait};
use crate::cpu::{CpuLatency, ThreadTime, pin_this_thread};
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::interface::Interface;
use crate::traffic::jitter::uniform;

/// Of linux/icmp.h, which the libc crate lacks: an option of raw sockets, a bit of each type that they do not take.
const ICMP_FILTER: libc::c_int = 1;

/// The way to a kernel, and what the last run found there.
#[derive(Debug)]
pub(crate) struct Echo {
    params: EchoOpenParams,
    socket: OwnedFd,
    request: Vec<u8>,
    answer: Vec<u8>,
    tally: Option<Tally>,
}

/// `echo.go`: that it is over. Times are CLOCK_MONOTONIC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct EchoGoAnswer {
    /// The start of what was measured, the warm-up left out, CLOCK_MONOTONIC in ns.
    start_ns: u64,
    /// The end, CLOCK_MONOTONIC in ns.
    end_ns: u64,
    /// Whether the CPUs were kept out of deep sleep.
    cpu_latency_held: bool,
    /// Whether it was aborted before its end.
    aborted: bool,
    /// The time of the asking thread; null where the kernel does not account for it.
    thread: Option<ThreadTime>,
}

impl Echo {
    /// Checks that the way can be taken; nothing is sent.
    pub(crate) fn open(params: &EchoOpenParams) -> Result<Self, Error> {
        params.check()?;
        let interface = Interface::find("interface", &params.interface)?;
        let socket = open_socket(params, &interface).with_context(|| {
            let (local, name) = (params.local_address.get(), &interface.name);
            format!(
                "cannot use {local} on {name}; give {name} the address, and the agent CAP_NET_RAW"
            )
        })?;
        Ok(Self {
            params: params.clone(),
            socket,
            request: vec![0; packet::HEADER_BYTES + params.payload_bytes.get()],
            answer: vec![0; packet::GREATEST_PACKET_BYTES],
            tally: None,
        })
    }

    /// Asks from the calling thread. Setting `abort` ends it within milliseconds.
    pub(crate) fn go(
        &mut self,
        params: &GoParams,
        abort: &AtomicBool,
    ) -> Result<EchoGoAnswer, Error> {
        params.check()?;
        self.tally = None;
        let cpu = self.params.cpu;
        pin_this_thread(cpu)
            .with_context(|| format!("cannot stay on CPU {cpu}; check that it is online"))?;
        let latency = CpuLatency::hold();
        let thread = ThreadTime::of_this_thread().ok();
        let mut tally = Tally::new(self.params.timeout_ns());
        let times = params.times(params.await_begin(abort));
        self.ask(params.trial, times, &mut tally, abort)
            .context("cannot receive on the echo's socket")?;
        self.tally = Some(tally);
        Ok(EchoGoAnswer {
            start_ns: times.start_ns,
            end_ns: now_ns(),
            cpu_latency_held: latency.is_some(),
            aborted: abort.load(Ordering::Relaxed),
            thread: thread.and_then(|then| Some(ThreadTime::of_this_thread().ok()?.since(then))),
        })
    }

    /// What the last run measured.
    pub(crate) fn collect(&self) -> Result<EchoCollectAnswer, Error> {
        let tally = self.tally.as_ref();
        let tally = tally.ok_or_else(|| anyhow!("nothing was measured; call echo.go first"))?;
        Ok(tally.reply()?)
    }

    /// Asks until the window's end, and waits for what is still under way then.
    fn ask(
        &mut self,
        trial: u32,
        times: Times,
        tally: &mut Tally,
        abort: &AtomicBool,
    ) -> nix::Result<()> {
        let mut slot = 0;
        while !abort.load(Ordering::Relaxed) {
            let now = now_ns();
            tally.expire(now);
            let deadline_ns = tally.deadline_ns();
            let due_ns = match (self.params.interval_ns(), deadline_ns) {
                // From the number itself, so that no rounding adds up.
                (Some(interval_ns), _) => Some(due_ns(times, interval_ns, slot)),
                (None, None) => Some(now),
                (None, Some(_)) => None,
            };
            let due_ns = due_ns.filter(|&due_ns| due_ns < times.end_ns);
            if due_ns.is_some_and(|due_ns| due_ns <= now) {
                let is_measured = due_ns >= Some(times.start_ns);
                let sequence = tally.next();
                self.send(Id { trial, sequence }, is_measured, tally);
                slot += 1;
            } else if due_ns.is_none() && deadline_ns.is_none() {
                break;
            } else {
                let until_ns = [due_ns, deadline_ns, Some(now + LOOK_UP_NS)];
                let until_ns = until_ns.into_iter().flatten().min();
                let mut watched = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
                wait(&mut watched, until_ns)?;
            }
            self.receive(trial, tally)?;
        }
        Ok(())
    }

    fn send(&mut self, id: Id, is_measured: bool, tally: &mut Tally) {
        packet::write_request(id, &mut self.request);
        let sent_ns = now_ns();
        let sent = send(
            self.socket.as_raw_fd(),
            &self.request,
            MsgFlags::MSG_DONTWAIT,
        );
        let problem = sent.err().map(|errno| errno.desc().to_owned());
        tally.send(sent_ns, is_measured, problem);
    }

    fn receive(&mut self, trial: u32, tally: &mut Tally) -> nix::Result<()> {
        loop {
            match arrival::receive(&self.socket, &mut self.answer) {
                Ok((length, came_ns)) => {
                    let packet = &self.answer[..length];
                    let sequence = packet::answered(packet, trial, self.params.payload_bytes.get());
                    tally.receive(sequence, came_ns);
                }
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// When the echo `slot` (from 0) is due: somewhere in its interval, so that it keeps step with nothing.
///
/// An interval begins with what is measured, which holds as many echoes as it holds intervals.
fn due_ns(times: Times, interval_ns: f64, slot: u64) -> u64 {
    let warmup_ns = (times.start_ns - times.begin_ns) as f64;
    let intervals = slot as f64 + uniform(times.begin_ns, slot) - (warmup_ns / interval_ns).ceil();
    times
        .start_ns
        .saturating_add_signed((intervals * interval_ns).floor() as i64)
}

fn open_socket(params: &EchoOpenParams, interface: &Interface) -> nix::Result<OwnedFd> {
    let icmp = SockProtocol::Icmp;
    let socket = socket(
        AddressFamily::Inet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        icmp,
    )?;
    setsockopt(
        &socket,
        sockopt::BindToDevice,
        &OsString::from(&interface.name),
    )?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    let all_but_replies = !(1_u32 << packet::REPLY);
    raw::set(&socket, libc::SOL_RAW, ICMP_FILTER, all_but_replies)?;
    let at = |address| SockaddrIn::from(SocketAddrV4::new(address, 0));
    bind(socket.as_raw_fd(), &at(params.local_address.get()))?;
    connect(socket.as_raw_fd(), &at(params.remote_address.get()))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_interval_of_the_measurement_has_its_echo(
            warmup_ns in 0_u64..2_000_000_000,
            interval_ns in 1e5..1e9,
            intervals in 1_u64..50,
        ) {
            let begin_ns = 1 << 50;
            let start_ns = begin_ns + warmup_ns;
            let end_ns = start_ns + (intervals as f64 * interval_ns) as u64;
            let times = Times { begin_ns, start_ns, end_ns };
            let mut due = (0..).map(|slot| due_ns(times, interval_ns, slot));
            let all: Vec<u64> = due.by_ref().take_while(|&due_ns| due_ns < end_ns).collect();
            prop_assert!(all.is_sorted());
            prop_assert!(all[0] as f64 >= begin_ns as f64 - interval_ns);
            let measured: Vec<u64> = all.into_iter().filter(|&due_ns| due_ns >= start_ns).collect();
            prop_assert_eq!(measured.len() as u64, intervals);
            for (place, due_ns) in measured.into_iter().enumerate() {
                let after = (due_ns - start_ns) as f64 + 1.0; // rounded down
                prop_assert!(after >= place as f64 * interval_ns);
                prop_assert!(after <= (place as f64 + 1.0) * interval_ns + 1.0);
            }
        }
    }
}
