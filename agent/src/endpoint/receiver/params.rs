//! # Params of the `receiver.*` methods

use std::net::{Ipv4Addr, SocketAddrV4};

use serde::Deserialize;

use crate::Error;
use crate::endpoint::options::Options;
use crate::endpoint::run::{check_phases, to_ns};
use crate::endpoint::socket::{Protocol, check_address};

/// All are served by one thread.
pub(in crate::endpoint) const MOST_FLOWS: usize = 64;
const LONGEST_LIMIT_MS: u64 = 60_000;

/// `receiver.open`: where to listen, and for what.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenParams {
    pub(super) cpu: usize,
    pub(super) protocol: Protocol,
    pub(super) interface: String,
    address: Ipv4Addr,
    port: u16,
    /// Exactly so many, numbered from 0.
    pub(super) flows: usize,
    /// What is of another one is refused.
    pub(super) trial: u32,
    /// What comes before the window, as the sender is told.
    warmup_s: Option<f64>,
    /// Of the window.
    duration_s: f64,
    #[serde(default)]
    pub(super) options: Options,
}

impl OpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        check_address("address", self.address)?;
        if self.port == 0 {
            return Err(Error::params("port", "must not be 0"));
        }
        check_flows(self.flows)?;
        check_phases(self.warmup_s, self.duration_s)?;
        self.options.check(self.protocol)
    }

    pub(super) fn local(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address, self.port)
    }

    pub(super) fn warmup_ns(&self) -> u64 {
        self.warmup_s.map_or(0, to_ns)
    }

    pub(super) fn window_ns(&self) -> u64 {
        to_ns(self.duration_s)
    }
}

pub(in crate::endpoint) fn check_flows(flows: usize) -> Result<(), Error> {
    if (1..=MOST_FLOWS).contains(&flows) {
        return Ok(());
    }
    let problem = format!("{flows} is not between 1 and {MOST_FLOWS}");
    Err(Error::params("flows", problem))
}

/// `receiver.collect`: wait until the flows are drained, then report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectParams {
    /// Of UDP, by flow; the others tell their end themselves.
    #[serde(default)]
    pub(super) expected_messages: Option<Vec<u64>>,
    pub(super) quiet_ms: u64,
    pub(super) limit_ms: u64,
}

impl CollectParams {
    pub(super) fn check(&self, open: &OpenParams) -> Result<(), Error> {
        for (field, limit_ms) in [("quiet_ms", self.quiet_ms), ("limit_ms", self.limit_ms)] {
            if limit_ms > LONGEST_LIMIT_MS {
                let problem = format!("{limit_ms} is above {LONGEST_LIMIT_MS}");
                return Err(Error::params(field, problem));
            }
        }
        let Some(expected) = &self.expected_messages else {
            return Ok(());
        };
        let problem = if !open.protocol.is_datagram() {
            "is for udp; flows of other protocols tell their end themselves".to_owned()
        } else if expected.len() != open.flows {
            let (given, flows) = (expected.len(), open.flows);
            format!("has {given} numbers for {flows} flows")
        } else {
            return Ok(());
        };
        Err(Error::params("expected_messages", problem))
    }
}

/// `receiver.series`: what one flow brought in each 100 ms.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeriesParams {
    pub(super) flow: usize,
    /// How many steps are known already.
    pub(super) first: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(changes: Value) -> OpenParams {
        let mut params = json!({
            "cpu": 0, "protocol": "udp", "interface": "snk0", "address": "198.18.0.3", "port": 5000, "flows": 2,
            "trial": 7, "duration_s": 1.0,
        });
        for (key, value) in changes.as_object().unwrap() {
            params[key] = value.clone();
        }
        serde_json::from_value(params).unwrap()
    }

    #[test]
    fn receivers_beyond_the_bounds_are_refused_by_the_field() {
        assert!(read(json!({})).check().is_ok());
        assert!(
            read(json!({"protocol": "sctp", "flows": 64}))
                .check()
                .is_ok()
        );
        for (changes, field) in [
            (json!({"address": "0.0.0.0"}), "address: 0.0.0.0"),
            (json!({"port": 0}), "port:"),
            (json!({"flows": 0}), "flows: 0"),
            (json!({"flows": 65}), "flows: 65"),
            (json!({"duration_s": 0.0}), "duration_s: 0"),
            (
                json!({"options": {"congestion": "reno"}}),
                "options.congestion: is tcp's",
            ),
        ] {
            let problem = read(changes).check().unwrap_err().to_string();
            assert!(problem.starts_with(field), "{problem}");
        }
    }

    #[test]
    fn what_is_expected_fits_the_flows() {
        let check = |protocol: &str, changes: Value| {
            let mut params = json!({"quiet_ms": 200, "limit_ms": 2000});
            let changes = changes.as_object().unwrap().clone();
            params.as_object_mut().unwrap().extend(changes);
            let params: CollectParams = serde_json::from_value(params).unwrap();
            params
                .check(&read(json!({"protocol": protocol})))
                .map_or_else(|error| error.to_string(), |()| "none".to_owned())
        };
        assert_eq!(check("udp", json!({})), "none");
        assert_eq!(check("udp", json!({"expected_messages": [1, 2]})), "none");
        assert_eq!(check("tcp", json!({})), "none");
        for (protocol, changes, expected) in [
            (
                "udp",
                json!({"expected_messages": [1]}),
                "expected_messages: has 1 numbers for 2 flows",
            ),
            (
                "tcp",
                json!({"expected_messages": [1, 2]}),
                "expected_messages: is for udp",
            ),
            ("tcp", json!({"limit_ms": 60_001}), "limit_ms: 60001"),
            ("udp", json!({"quiet_ms": 60_001}), "quiet_ms: 60001"),
        ] {
            let problem = check(protocol, changes);
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}
