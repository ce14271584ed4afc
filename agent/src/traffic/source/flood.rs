//! As many frames as the interfaces take: batches, stream by stream, waiting only when every stream is held back.
//!
//! The delay under such load is not read from the flood, whose frames wait in the source's own queue, but from extra
//! probes: a thread of higher priority sends them past that queue, in a lane with a sequence of its own.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use anyhow::{Context, anyhow};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use super::batch::{BATCH_FRAMES, Batch};
use super::socket::{FrameSocket, Sent};
use super::wire::Counts;
use super::{Job, Mechanism, Sendings, Stream, Window};
use crate::traffic::clock::{now_ns, pin_this_thread};
use crate::traffic::frame::{FLAG_EXTRA_LANE, FLAG_PROBE, Frame};
use crate::traffic::schedule::Schedule;

const PROBE_PRIORITY: libc::c_int = 1;
const WAIT_MS: u8 = 1;

pub(super) struct Flood;

impl Mechanism for Flood {
    fn send(&self, job: &Job<'_>) -> anyhow::Result<Sendings> {
        let over = AtomicBool::new(false);
        let (flood, probes) = thread::scope(|scope| {
            let probes = scope.spawn(|| send_probes(job, &over));
            let flood = send_flood(job);
            over.store(flood.is_err(), Relaxed);
            (flood, probes.join())
        });
        let mut counts = flood?;
        let probes = probes.map_err(|_| anyhow!("the probe thread broke"))??;
        for (of_flood, of_probes) in counts.iter_mut().zip(probes) {
            for (count, probes_sent) in of_flood.iter_mut().zip(of_probes) {
                count.probes_sent = probes_sent;
            }
        }
        Ok(Sendings {
            counts,
            lag: None,
            aborted: job.abort.load(Relaxed),
        })
    }
}

fn send_flood(job: &Job<'_>) -> anyhow::Result<Vec<Vec<Counts>>> {
    let mut batches: Vec<Batch> = job
        .streams
        .iter()
        .map(|Stream { params, .. }| {
            Batch::new(
                &params.addresses,
                job.params.frame_bytes,
                job.params.trial,
                params.stream,
            )
        })
        .collect();
    let mut phases = Vec::with_capacity(job.windows.len());
    for window in job.windows {
        while now_ns() < window.start_ns {
            std::hint::spin_loop();
        }
        let mut counts = vec![Counts::default(); job.streams.len()];
        let mut sequences = vec![0; job.streams.len()];
        for batch in &mut batches {
            batch.set_phase(window.phase);
        }
        'window: loop {
            let mut held_back = true;
            for (position, stream) in job.streams.iter().enumerate() {
                let now = now_ns();
                if now >= window.end_ns || job.abort.load(Relaxed) {
                    break 'window;
                }
                let sequence = &mut sequences[position];
                batches[position].stamp(BATCH_FRAMES, *sequence, now);
                let outcome = stream
                    .socket
                    .send_batch(&mut batches[position], BATCH_FRAMES)
                    .with_context(|| format!("sending on {}", stream.params.interface))?;
                counts[position].count(outcome, sequence, now);
                held_back &= outcome == Sent::Blocked;
            }
            if held_back {
                wait_for_room(job.streams)?;
            }
        }
        phases.push(counts);
    }
    Ok(phases)
}

fn wait_for_room(streams: &[Stream]) -> anyhow::Result<()> {
    let mut sockets: Vec<PollFd<'_>> = streams
        .iter()
        .map(|stream| {
            // SAFETY: the socket lives as long as its stream, which outlives this call.
            let fd = unsafe { BorrowedFd::borrow_raw(stream.socket.as_raw_fd()) };
            PollFd::new(fd, PollFlags::POLLOUT)
        })
        .collect();
    match poll(&mut sockets, PollTimeout::from(WAIT_MS)) {
        Ok(_) | Err(nix::Error::EINTR) => Ok(()),
        Err(error) => Err(error).context("waiting for room in the source's queues"),
    }
}

/// Extra probes of every stream; returns how many were sent by phase and stream.
fn send_probes(job: &Job<'_>, over: &AtomicBool) -> anyhow::Result<Vec<Vec<u64>>> {
    pin_this_thread(&[job.cpu])?;
    raise_priority().context("raising the probe thread's priority; it needs CAP_SYS_NICE")?;
    let mut lanes = Vec::new();
    for stream in job.streams {
        let params = &stream.params;
        let socket = FrameSocket::bind("interface", &params.interface)
            .map_err(|error| anyhow!("{error}"))?;
        socket.bypass_qdisc()?;
        let lane = params.stream | FLAG_EXTRA_LANE;
        let frame = Frame::new(
            &params.addresses,
            job.params.frame_bytes,
            job.params.trial,
            lane,
        );
        lanes.push((socket, frame));
    }
    let ended = |window: &Window, at_ns| {
        at_ns >= window.end_ns || job.abort.load(Relaxed) || over.load(Relaxed)
    };
    let mut phases = Vec::with_capacity(job.windows.len());
    for window in job.windows {
        let schedule = Schedule::new(window.start_ns, job.params.probe_fps, lanes.len());
        let mut sent = vec![0; lanes.len()];
        'window: for sequence in 0.. {
            for (position, (socket, frame)) in lanes.iter_mut().enumerate() {
                let departure = schedule.departure_ns(position, sequence);
                if ended(window, departure) {
                    break 'window;
                }
                sleep_until(departure);
                frame.set_phase(window.phase, FLAG_PROBE);
                // A probe that finds the ring full is lost like any frame there; its number is used up.
                frame.stamp(sequence, now_ns());
                socket.send(frame.bytes())?;
                sent[position] += 1;
            }
        }
        phases.push(sent);
    }
    Ok(phases)
}

fn sleep_until(at_ns: u64) {
    let at = nix::sys::time::TimeSpec::new(
        (at_ns / 1_000_000_000) as i64,
        (at_ns % 1_000_000_000) as i64,
    );
    // A signal may cut it short; a probe that leaves early is still stamped truly.
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &at,
    );
}

fn raise_priority() -> std::io::Result<()> {
    let priority = libc::sched_param {
        sched_priority: PROBE_PRIORITY,
    };
    // SAFETY: the parameter outlives the call; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
