//! # Flood: as many frames as the interface takes
//!
//! One thread goes round the streams with bursts. When no stream has room it sleeps until one is not: behind a
//! qdisc that holds frames back, this is layer-2 flow control.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};

use super::feed::Feed;
use super::load::{Load, Punctuality, Tally, Window};
use super::probes::ProbeLane;
use crate::Error;
use crate::traffic::clock::now_ns;

/// How long the flood may sleep without a look at the abort flag.
const NAP: Duration = Duration::from_millis(10);

pub(super) struct Flood<'a> {
    feeds: Vec<Feed<'a>>,
    probes: ProbeLane<'a>,
}

impl<'a> Flood<'a> {
    pub(super) fn new(feeds: Vec<Feed<'a>>, probes: Vec<Feed<'a>>, probe_fps: f64) -> Self {
        let probes = ProbeLane::new(probes, probe_fps);
        Self { feeds, probes }
    }
}

impl Load for Flood<'_> {
    fn send_phase(&mut self, window: &Window, abort: &AtomicBool) -> Result<Vec<Tally>, Error> {
        let Self { feeds, probes } = self;
        let flood_ended = AtomicBool::new(false);
        let probes = thread::scope(|scope| {
            let sending = scope.spawn(|| probes.send_phase(window, &flood_ended));
            let flooded = flood(feeds, window, || {
                abort.load(Ordering::Relaxed) || sending.is_finished()
            });
            flood_ended.store(true, Ordering::Relaxed);
            let probes = sending.join().expect("the probe thread does not panic");
            flooded.and(probes)
        })?;
        let tallies = feeds.iter_mut().zip(probes).map(|(feed, probes)| Tally {
            probes_sent: probes.frames_sent,
            probes_refused: probes.send_errors.unwrap_or_default(),
            ..feed.end()
        });
        Ok(tallies.collect())
    }

    fn punctuality(&self) -> Option<Punctuality> {
        None
    }
}

fn flood(feeds: &mut [Feed<'_>], window: &Window, is_over: impl Fn() -> bool) -> Result<(), Error> {
    for feed in feeds.iter_mut() {
        feed.begin(window.phase);
    }
    loop {
        let mut done = 0;
        for feed in feeds.iter_mut() {
            let now = now_ns();
            if now >= window.end_ns || is_over() {
                return Ok(());
            }
            if feed.is_exhausted() {
                return Err(
                    anyhow!("all 2^32 sequence numbers are used up; shorten the phase").into(),
                );
            }
            for slot in 0..feed.slots() {
                feed.stamp(slot, false, now, now);
            }
            done += feed.send(feed.slots())?;
        }
        if done == 0 {
            await_room(feeds)?;
        }
    }
}

fn await_room(feeds: &[Feed<'_>]) -> Result<(), Error> {
    let mut room: Vec<_> = feeds
        .iter()
        .map(|feed| PollFd::new(feed.descriptor(), PollFlags::POLLOUT))
        .collect();
    match ppoll(&mut room, Some(NAP.into()), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(anyhow!(errno).context("cannot wait for the sockets").into()),
    }
}
