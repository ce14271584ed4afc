//! # Flood: as many frames as the interface takes
//!
//! A thread goes round its strands with bursts. When none of them has room it sleeps until one has: behind a qdisc that holds
//! frames back, this is layer-2 flow control. On links it polls, for a frame leaves at its time.

use std::time::Duration;

use anyhow::anyhow;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};

use super::feed::Placed;
use super::load::{Load, Part, Stop, Window};
use crate::error::Error;
use crate::traffic::clock::now_ns;
use crate::traffic::frame::{Departure, no_sequence_left};

/// How long a flood may sleep without a look at what ends it.
pub(super) const NAP: Duration = Duration::from_millis(10);

pub(super) struct Flood<'a>(pub(super) Vec<Placed<'a>>);

impl Load for Flood<'_> {
    fn begin(&mut self, window: &mut Window) -> Result<(), Error> {
        for placed in &mut self.0 {
            placed.feed.begin(window);
        }
        Ok(())
    }

    fn send(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error> {
        loop {
            let (mut done, mut is_ahead) = (0, false);
            for Placed { feed, .. } in &mut self.0 {
                let now = now_ns();
                if now >= window.end_ns || stop.is_asked() {
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
                await_room(&self.0)?;
            }
        }
    }

    fn end(&mut self, window: &mut Window) -> Result<Vec<Part>, Error> {
        let end_ns = window.ended_ns();
        let ended = self.0.iter_mut();
        Ok(ended
            .map(|placed| placed.part(|feed| feed.end_flood(end_ns)))
            .collect())
    }
}

fn await_room(strands: &[Placed<'_>]) -> Result<(), Error> {
    let mut room: Vec<_> = strands
        .iter()
        .map(|placed| PollFd::new(placed.feed.descriptor(), PollFlags::POLLOUT))
        .collect();
    match ppoll(&mut room, Some(NAP.into()), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(anyhow!(errno).context("cannot wait for the sockets").into()),
    }
}
