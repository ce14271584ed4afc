//! # Flood: as many frames as the interface takes
//!
//! One thread goes round the streams with bursts, unless the kernel floods by itself. When no stream has room it sleeps until one
//! has: behind a qdisc that holds frames back, this is layer-2 flow control. On links it polls, for a frame leaves at its time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};

use super::feed::Feed;
use super::load::{Load, Punctuality, Tally, Window};
use super::probes::ProbeLane;
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::frame::{Departure, no_sequence_left};

/// How long a flood may sleep without a look at the abort flag.
pub(super) const NAP: Duration = Duration::from_millis(10);

/// What floods: feeds, or the kernel by itself.
pub(super) trait Torrent {
    /// Begins a phase, and moves the window to when it did.
    fn begin(&mut self, window: &mut Window) -> Result<(), Error>;

    /// Floods until the window ends or `is_over` says so.
    fn flood(&mut self, window: &Window, is_over: impl Fn() -> bool) -> Result<(), Error>;

    /// Ends the phase, and its window where it ended at another time; returns what each stream sent.
    fn end(&mut self, window: &mut Window) -> Result<Vec<Tally>, Error>;
}

pub(super) struct Flood<'a, T> {
    torrent: T,
    probes: ProbeLane<'a>,
}

impl<'a, T> Flood<'a, T> {
    pub(super) fn new(torrent: T, probes: Vec<Feed<'a>>, probe_fps: f64) -> Self {
        let probes = ProbeLane::new(probes, probe_fps);
        Self { torrent, probes }
    }
}

impl<T: Torrent> Load for Flood<'_, T> {
    fn send_phase(&mut self, window: &mut Window, abort: &AtomicBool) -> Result<Vec<Tally>, Error> {
        let Self { torrent, probes } = self;
        torrent.begin(window)?;
        let flood_ended = AtomicBool::new(false);
        let probes = thread::scope(|scope| {
            let window = &*window;
            let sending = scope.spawn(|| probes.send_phase(window, &flood_ended));
            let flooded = torrent.flood(window, || {
                abort.load(Ordering::Relaxed) || sending.is_finished()
            });
            flood_ended.store(true, Ordering::Relaxed);
            let probes = sending.join().expect("the probe thread does not panic");
            flooded.and(probes)
        })?;
        let tallies = torrent.end(window)?.into_iter().zip(probes);
        let tallies = tallies.map(|(tally, probes)| Tally {
            probes_sent: probes.frames_sent,
            probes_refused: probes.send_errors.unwrap_or_default(),
            ..tally
        });
        Ok(tallies.collect())
    }

    fn punctuality(&self) -> Option<Punctuality> {
        None
    }
}

impl Torrent for Vec<Feed<'_>> {
    fn begin(&mut self, window: &mut Window) -> Result<(), Error> {
        for feed in self {
            feed.begin(window);
        }
        Ok(())
    }

    fn flood(&mut self, window: &Window, is_over: impl Fn() -> bool) -> Result<(), Error> {
        loop {
            let (mut done, mut is_ahead) = (0, false);
            for feed in self.iter_mut() {
                let now = now_ns();
                if now >= window.end_ns || is_over() {
                    return Ok(());
                }
                if feed.is_exhausted() {
                    return Err(no_sequence_left().into());
                }
                let count = feed.allowed(now);
                if count == 0 {
                    is_ahead = true;
                    continue;
                }
                for slot in 0..count {
                    feed.stamp(slot, false, Departure::at(now));
                }
                done += feed.send(count)?;
            }
            if done == 0 && !is_ahead {
                await_room(self)?;
            }
        }
    }

    fn end(&mut self, window: &mut Window) -> Result<Vec<Tally>, Error> {
        let end_ns = window.ended_ns();
        Ok(self.iter_mut().map(|feed| feed.end_flood(end_ns)).collect())
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
