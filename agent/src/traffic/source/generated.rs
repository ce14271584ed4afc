//! # Generated: a load that the kernel makes by itself
//!
//! Its frames tell trial and phase by their ports, and have no time: their delay is that of the probe lane, whose frames are the
//! agent's. At a rate the kernel waits as long from one frame to the next as schlosser2011, section 3.2, has it wait. The calling
//! thread only waits for the end.

use super::flood::NAP;
use super::load::{Load, Part, Stop, Tally, Window};
use super::params::SourceRunParams;
use crate::error::Error;
use crate::traffic::clock::{now_ns, sleep_until};
use crate::traffic::frame::{PORT_TRIALS, Phase};
use crate::traffic::mechanism::{Device, Running};
use crate::traffic::strand::Strand;

pub(super) struct Generated<'a> {
    devices: Vec<&'a Device>,
    trial: u32,
    frame_bytes: usize,
    /// From one frame to the next; 0 floods.
    gap_ns: u64,
    running: Option<Running>,
    /// When it was told to end.
    stopped_ns: u64,
}

impl<'a> Generated<'a> {
    /// A load of checked params.
    pub(super) fn new(devices: Vec<&'a Device>, params: &SourceRunParams) -> Self {
        Self {
            devices,
            trial: params.trial,
            frame_bytes: params.frame_bytes.greatest(),
            gap_ns: params
                .intended_fps
                .map_or(0, |fps| (1e9 / fps.get()).round() as u64),
            running: None,
            stopped_ns: 0,
        }
    }

    /// Refuses what the kernel's frames cannot be.
    pub(super) fn check(params: &SourceRunParams) -> Result<(), Error> {
        let refuse = |field: &str, problem: &str| Err(Error::params(field, problem));
        if params.frame_bytes.is_mix() {
            return refuse(
                "frame_bytes",
                "pktgen's frames have one length: it sends no mix",
            );
        }
        if params.flows.get() > 1 {
            return refuse(
                "flows",
                "pktgen's ports tell trial, phase and stream: it sends one flow",
            );
        }
        if params.trial >= PORT_TRIALS {
            let problem = format!("pktgen's ports tell trials below {PORT_TRIALS}");
            return refuse("trial", &problem);
        }
        for (at, phase) in params.phases.iter().enumerate() {
            if phase.phase == Phase::Probe {
                return refuse(
                    &format!("phases[{at}].phase"),
                    "a frame of the probe phase tells its delay, which pktgen's do not",
                );
            }
        }
        Ok(())
    }
}

impl Load for Generated<'_> {
    fn begin(&mut self, window: &mut Window) -> Result<(), Error> {
        for device in &self.devices {
            device.prepare(self.trial, window.phase, self.frame_bytes, self.gap_ns)?;
        }
        let (running, begun_ns) = Running::start(&self.devices)?;
        window.begin_at(begun_ns);
        self.running = Some(running);
        Ok(())
    }

    fn send(&mut self, window: &Window, stop: Stop<'_>) -> Result<(), Error> {
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        loop {
            let now = now_ns();
            if now >= window.end_ns || stop.is_asked() || running.has_ended()? {
                break;
            }
            sleep_until(window.end_ns.min(now + NAP.as_nanos() as u64));
        }
        self.stopped_ns = running.stop()?;
        Ok(())
    }

    fn end(&mut self, window: &mut Window) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::with_capacity(self.devices.len());
        window.end_ns = window.start_ns;
        for (stream, device) in self.devices.iter().enumerate() {
            let report = device.report()?;
            if report.stopped_us < self.stopped_ns / 1000 {
                return Err(device.early_end(report.sent).into());
            }
            let last_ns = report.stopped_us * 1000;
            window.end_ns = window.end_ns.max(last_ns);
            let frames = report.sent + report.errors;
            let tally = Tally {
                frames_sent: frames,
                sends: frames,
                longest_burst: frames.min(1),
                send_errors: Some(report.errors),
                first_ns: (frames > 0).then_some(report.started_us * 1000),
                last_ns: (frames > 0).then_some(last_ns),
                ..Tally::default()
            };
            parts.push(Part {
                stream,
                strand: Strand::WHOLE,
                tally,
            });
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_the_kernel_s_frames_cannot_be_is_refused_by_the_field() {
        let check = |changes: Value| {
            let mut params = json!({
                "trial": PORT_TRIALS - 1, "frame_bytes": 64, "mechanism": "pktgen", "intended_fps": null,
                "probe_fps": 100.0, "phases": [{"phase": "measure", "duration_s": 1.0}],
            });
            for (key, value) in changes.as_object().unwrap() {
                params[key] = value.clone();
            }
            Generated::check(&serde_json::from_value(params).unwrap())
        };
        assert!(check(json!({})).is_ok());
        assert!(check(json!({"intended_fps": 10.0})).is_ok());
        for (changes, problem) in [
            (json!({"frame_bytes": [64, 65]}), "frame_bytes: pktgen's"),
            (json!({"flows": 2}), "flows: pktgen's ports"),
            (
                json!({"trial": PORT_TRIALS}),
                "trial: pktgen's ports tell trials below 2097152",
            ),
            (
                json!({"phases": [{"phase": "probe", "duration_s": 1.0}]}),
                "phases[0].phase: ",
            ),
        ] {
            let refusal = check(changes).unwrap_err().to_string();
            assert!(refusal.starts_with(problem), "{refusal}");
        }
    }
}
