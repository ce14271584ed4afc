//! # Params of the `source.*` methods

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::bounds::{
    GREATEST_FPS, GREATEST_LINK_MBPS, GREATEST_STREAM, GREATEST_VLAN, LONGEST_PHASE_S, MOST_PHASES,
    MOST_SOURCE_FLOWS, MOST_SOURCE_THREADS, MOST_STREAMS,
};
use crate::api::values::{List, Positive, Whole};
use crate::error::Error;
use crate::mac::MacAddress;
use crate::traffic::frame::{Addresses, Endpoints, GREATEST_FRAME_BYTES, Phase, SEQUENCE_NUMBERS};
use crate::traffic::lengths::Lengths;
use crate::traffic::mechanism::Name;
use crate::traffic::strand::{Strand, Strands};

/// `source.open`: a thread on each of these CPUs is to send these streams.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceOpenParams {
    /// The CPUs of the threads, one each. The strands of all streams are dealt to them in turns.
    pub(super) cpus: List<usize, 1, MOST_SOURCE_THREADS>,
    /// Strands of each stream: of n each has every n-th frame.
    #[serde(default)]
    pub(super) strands: Strands,
    /// What may send them beside `raw`, which always may.
    #[serde(default = "own_mechanisms")]
    pub(super) mechanisms: Vec<Name>,
    /// The streams, one entry each.
    pub(super) streams: List<SourceStream, 1, MOST_STREAMS>,
}

/// The frames of the others are made by kernel threads, whose CPU time is nobody's.
fn own_mechanisms() -> Vec<Name> {
    Name::OWN.to_vec()
}

/// A stream of test frames.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceStream {
    /// The number of the stream, which no other has.
    pub(super) stream: Whole<u8, 0, GREATEST_STREAM>,
    /// The name of the interface that sends.
    pub(super) interface: String,
    /// The source Ethernet address.
    source_mac: MacAddress,
    /// The destination Ethernet address.
    destination_mac: MacAddress,
    /// Frames carry a tag where this is given.
    #[serde(default)]
    vlan: Option<Whole<u16, 1, GREATEST_VLAN>>,
    /// The source address.
    source_ip: IpAddr,
    /// The destination address, of the IP version of the source.
    destination_ip: IpAddr,
    /// The source UDP port, the first of its flows.
    source_port: u16,
    /// The destination UDP port.
    destination_port: u16,
    /// The rate of the stream's link at layer 1, in Mbit/s, that the source keeps to; null where it need not.
    #[serde(default)]
    pub(super) link_mbps: Option<Positive<GREATEST_LINK_MBPS>>,
}

impl SourceOpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        let mut cpus = HashSet::new();
        if let Some(at) = self.cpus.iter().position(|cpu| !cpus.insert(cpu)) {
            let problem = format!("{} is given twice", self.cpus[at]);
            return Err(Error::params(format!("cpus[{at}]"), problem));
        }
        let mut numbers = HashSet::new();
        for (at, stream) in self.streams.iter().enumerate() {
            let problem = match stream.stream.get() {
                number if !numbers.insert(number) => format!("{number} is given twice"),
                _ => continue,
            };
            return Err(Error::params(format!("streams[{at}].stream"), problem));
        }
        Ok(())
    }

    /// The place of the CPU whose thread sends a strand of the stream at the place `stream`.
    pub(super) fn thread_of(&self, stream: usize, strand: Strand) -> usize {
        (stream * self.strands.get() + strand.place as usize) % self.cpus.len()
    }
}

impl SourceStream {
    /// `field` is where the params describe the stream.
    pub(super) fn endpoints(&self, field: &str) -> Result<Endpoints, Error> {
        let addresses = Addresses::of(self.source_ip, self.destination_ip).ok_or_else(|| {
            let problem = format!("{} is not of the same IP version", self.destination_ip);
            Error::params(format!("{field}.destination_ip"), problem)
        })?;
        Ok(Endpoints {
            source_mac: self.source_mac,
            destination_mac: self.destination_mac,
            vlan: self.vlan.map(Whole::get),
            addresses,
            source_port: self.source_port,
            destination_port: self.destination_port,
        })
    }
}

/// One per source port.
pub(super) type SourceFlows = Whole<u32, 1, MOST_SOURCE_FLOWS>;

/// `source.run`: the phases of one trial, one after the other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceRunParams {
    /// The number of the trial, which test frames and messages carry.
    pub(super) trial: u32,
    /// One length of all frames, or those of a mix's cycle.
    pub(super) frame_bytes: Lengths,
    /// UDP flows of each stream, by source ports from the stream's on.
    #[serde(default = "one")]
    pub(super) flows: SourceFlows,
    /// The mechanism that sends, one that `source.open` named.
    pub(super) mechanism: Name,
    /// Frames per second of each stream, in frames of the mean length for a mix; null: a flood.
    pub(super) intended_fps: Option<Positive<GREATEST_FPS>>,
    /// Probes a second of each stream: among the frames of a paced load, besides those of a flood or of pktgen.
    pub(super) probe_fps: Positive<GREATEST_FPS>,
    /// Whether others have the CPU as well: the thread of a paced load sleeps while nothing is due, and preempts them when
    /// something is.
    #[serde(default)]
    pub(super) shares_cpu: bool,
    /// The phases, in the order in which they are sent.
    pub(super) phases: List<SourcePhase, 1, MOST_PHASES>,
}

/// A phase of a trial.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SourcePhase {
    /// The phase of the trial.
    pub(super) phase: Phase,
    /// How long the phase lasts, in s.
    pub(super) duration_s: Positive<LONGEST_PHASE_S>,
}

impl SourcePhase {
    /// Of checked params only.
    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.duration_s.get())
    }
}

/// Whether links have their rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rates {
    Kept,
    Lifted,
}

/// The load asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Frames a second of each stream.
    Intended { fps: f64 },
    /// As many as the interface takes.
    Unlimited,
}

impl SourceRunParams {
    /// `least_frame_bytes` is what all streams can send, of which each has so many strands.
    pub(super) fn check(&self, least_frame_bytes: usize, strands: Strands) -> Result<Pace, Error> {
        self.frame_bytes
            .check(least_frame_bytes..=GREATEST_FRAME_BYTES)?;
        let (flows, strands) = (self.flows.get(), strands.get() as u32);
        if flows % strands != 0 {
            let problem = format!("{flows} do not make {strands} strands of whole flows");
            return Err(Error::params("flows", problem));
        }
        match self.intended_fps {
            Some(fps) => {
                let fps = fps.get();
                self.check_rate(fps)?;
                Ok(Pace::Intended { fps })
            }
            None if self.shares_cpu => {
                let problem = "a flood never sleeps; give intended_fps or leave this out";
                Err(Error::params("shares_cpu", problem))
            }
            None => Ok(Pace::Unlimited),
        }
    }

    /// The same for streams of so many strands.
    pub(super) fn over(&self, strands: Strands) -> Self {
        Self {
            frame_bytes: self.frame_bytes.over(strands),
            ..self.clone()
        }
    }

    fn check_rate(&self, fps: f64) -> Result<(), Error> {
        for (at, phase) in self.phases.iter().enumerate() {
            if fps * phase.duration_s.get() >= SEQUENCE_NUMBERS as f64 {
                let problem = format!(
                    "{fps} frames a second would use up the {SEQUENCE_NUMBERS} sequence numbers"
                );
                return Err(Error::params(format!("phases[{at}].duration_s"), problem));
            }
        }
        Ok(())
    }
}

pub(super) fn one() -> SourceFlows {
    Whole::ONE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    /// What is wrong with a run whose params are valid but for `changes`.
    fn problem(changes: Value) -> String {
        let mut params = json!({
            "trial": 1, "frame_bytes": 64, "mechanism": "raw", "intended_fps": 1000.0, "probe_fps": 1000.0,
            "phases": [{"phase": "measure", "duration_s": 1.0}],
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        read_value(params)
            .and_then(|params: SourceRunParams| params.check(64, Strands::ONE))
            .map_or_else(|error| error.to_string(), |_| "none".to_owned())
    }

    #[test]
    fn runs_within_the_bounds_are_accepted() {
        assert_eq!(problem(json!({})), "none");
        assert_eq!(
            problem(json!({"frame_bytes": 9018, "flows": 65_536, "probe_fps": 0.1})),
            "none"
        );
        assert_eq!(
            problem(json!({"mechanism": "af_xdp", "intended_fps": null})),
            "none"
        );
    }

    #[test]
    fn runs_beyond_the_bounds_are_refused_by_the_field() {
        for (changes, field) in [
            (json!({"frame_bytes": 63}), "frame_bytes: 63"),
            (json!({"frame_bytes": 9019}), "frame_bytes: 9019"),
            (json!({"flows": 0}), "flows: 0"),
            (json!({"flows": 65_537}), "flows: 65537"),
            (json!({"frame_bytes": [64, 63]}), "frame_bytes: 63"),
            (json!({"frame_bytes": []}), "frame_bytes: a mix"),
            (json!({"intended_fps": 0.0}), "intended_fps: 0"),
            (json!({"intended_fps": 1e8}), "intended_fps:"),
            (json!({"probe_fps": -1.0}), "probe_fps: -1"),
            (
                json!({"shares_cpu": true, "intended_fps": null}),
                "shares_cpu: a flood",
            ),
            (json!({"phases": []}), "phases:"),
            (
                json!({"phases": [{"phase": "warmup", "duration_s": 0.0}]}),
                "phases[0].duration_s: 0",
            ),
            (
                json!({"phases": [{"phase": "warmup", "duration_s": 3601.0}]}),
                "phases[0].duration_s: 3601",
            ),
            (
                json!({"intended_fps": 2e6, "phases": [{"phase": "warmup", "duration_s": 3600.0}]}),
                "phases[0].duration_s: 2000000",
            ),
        ] {
            let problem = problem(changes);
            assert!(problem.starts_with(field), "{problem}");
        }
    }

    #[test]
    fn streams_have_numbers_of_their_own() {
        let stream = |number: u8| {
            json!({
                "stream": number, "interface": "src0",
                "source_mac": "02:00:00:00:00:01", "destination_mac": "02:00:00:00:00:02",
                "source_ip": "198.18.0.2", "destination_ip": "198.18.1.2",
                "source_port": 4096, "destination_port": 4097,
            })
        };
        let check = |numbers: &[u8]| {
            let streams: Vec<_> = numbers.iter().copied().map(stream).collect();
            let params = read_value(json!({"cpus": [0], "streams": streams}));
            params
                .and_then(|params: SourceOpenParams| params.check())
                .map_err(|error| error.to_string())
        };
        assert_eq!(check(&[0, 127]), Ok(()));
        assert_eq!(
            check(&[]),
            Err("streams: 0 of them; 1 to 8 are allowed".to_owned())
        );
        assert_eq!(
            check(&[0, 128]),
            Err("streams[1].stream: 128 is not between 0 and 127".to_owned())
        );
        assert_eq!(
            check(&[1, 0, 1]),
            Err("streams[2].stream: 1 is given twice".to_owned())
        );
        assert!(check(&[0, 1, 2, 3, 4, 5, 6, 7, 8]).is_err());
    }

    #[test]
    fn threads_have_cpus_of_their_own() {
        let check = |cpus: &[usize]| {
            let params = read_value(json!({"cpus": cpus, "streams": [{
                "stream": 0, "interface": "src0",
                "source_mac": "02:00:00:00:00:01", "destination_mac": "02:00:00:00:00:02",
                "source_ip": "198.18.0.2", "destination_ip": "198.18.1.2",
                "source_port": 4096, "destination_port": 4097,
            }]}));
            params
                .and_then(|params: SourceOpenParams| params.check())
                .map_err(|error| error.to_string())
        };
        assert_eq!(check(&[2, 0]), Ok(()));
        assert_eq!(
            check(&[0, 1, 1]),
            Err("cpus[2]: 1 is given twice".to_owned())
        );
        assert!(check(&[]).unwrap_err().starts_with("cpus: 0 of them"));
    }

    #[test]
    fn strands_have_whole_flows() {
        let check = |flows: u32, strands: u8| {
            let params: SourceRunParams = read_value(json!({
                "trial": 1, "frame_bytes": 64, "flows": flows, "mechanism": "raw", "intended_fps": null,
                "probe_fps": 1000.0, "phases": [{"phase": "measure", "duration_s": 1.0}],
            }))
            .unwrap();
            let checked = params.check(64, serde_json::from_value(json!(strands)).unwrap());
            checked.map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(check(6, 2), Ok(()));
        let refused = "flows: 6 do not make 4 strands of whole flows".to_owned();
        assert_eq!(check(6, 4), Err(refused));
    }
}
