//! # Params of `relay.open` and `relay.go`

use std::net::{Ipv4Addr, SocketAddrV4};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::bounds::{
    GREATEST_RELAY_BYTES, LEAST_RELAY_BYTES, LONGEST_INTERVAL_MS, LONGEST_TIMEOUT_MS,
    MOST_ITERATIONS, MOST_RELAYS,
};
use crate::api::values::{EndpointAddress, List, Port, Positive, Whole};
use crate::endpoint::protocol::Protocol;
use crate::error::Error;

/// The one interface whose addresses reach nobody else.
const LOOPBACK: &str = "lo";

/// `relay.open`: the relays that this agent has of a ring, each a process of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelayOpenParams {
    /// The relays, the master first if it is here.
    pub(super) relays: List<RelayParams, 1, MOST_RELAYS>,
}

/// What one relay does. Its process is given the same.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RelayParams {
    /// Whether the relay keeps the time.
    pub(super) mode: RelayMode,
    /// Which of the agent's CPUs it stays on, counted from 0 and round again. Null for wherever the scheduler has it.
    pub(super) cpu: Option<usize>,
    /// The length of a message in bytes, or of a line on standard output, its newline included.
    pub(super) message_bytes: Whole<usize, LEAST_RELAY_BYTES, GREATEST_RELAY_BYTES>,
    /// What the relay does between two looks at the clock.
    pub(super) load: RelayLoad,
}

/// The part that a relay has in its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RelayMode {
    /// It sends a message into the ring, waits until that comes back, and keeps the time.
    Master,
    /// It passes on what it receives.
    Forwarder,
}

/// What stands between two looks at the clock (matthews2009, section 3.1).
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RelayLoad {
    /// Nothing.
    Nothing,
    /// A line on standard output, through the C library's buffer.
    Output(Buffering),
    /// The message's way through the ring.
    Network(RelayPath),
}

/// When the C library hands its buffer to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Buffering {
    /// When 4096 bytes are full, as it does by itself where standard output is a pipe.
    Full,
    /// With each line.
    Line,
}

/// Where a relay listens, and where it sends to.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RelayPath {
    /// The transport protocol: TCP or UDP.
    pub(super) protocol: Protocol,
    /// How long a connection lasts.
    pub(super) connection: Connection,
    /// The name of the interface.
    pub(super) interface: String,
    /// The address at which the relay listens.
    address: Ipv4Addr,
    /// The port at which the relay listens.
    port: Port,
    /// The address of the next relay.
    next_address: Ipv4Addr,
    /// The port of the next relay.
    next_port: Port,
    /// A message that takes longer, in ms, is lost.
    pub(super) timeout_ms: Whole<u64, 1, LONGEST_TIMEOUT_MS>,
}

/// How long a connection between relays lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Connection {
    /// Each message has one of its own.
    Fresh,
    /// One for all messages of a run.
    Persistent,
}

/// `relay.go`: one run of the master's.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelayGoParams {
    /// The number of the trial, which test frames and messages carry.
    pub(super) trial: u32,
    /// How many messages the master sends round.
    pub(super) iterations: Whole<u64, 1, MOST_ITERATIONS>,
    /// The time from the start of one iteration to that of the next, in ms; null: each as soon as the one before is
    /// over.
    pub(super) interval_ms: Option<Positive<LONGEST_INTERVAL_MS>>,
}

impl RelayOpenParams {
    pub(super) fn check(&self) -> Result<(), Error> {
        let masters = self.relays.iter().skip(1);
        if masters.clone().any(|relay| relay.mode == RelayMode::Master) {
            return Err(Error::params("relays", "the first alone may be the master"));
        }
        for (at, relay) in self.relays.iter().enumerate() {
            relay.check().map_err(|problem| match problem {
                Error::Params { field, problem } => {
                    Error::params(format!("relays[{at}].{field}"), problem)
                }
                failed => failed,
            })?;
        }
        Ok(())
    }
}

impl RelayParams {
    fn check(&self) -> Result<(), Error> {
        match &self.load {
            RelayLoad::Network(way) => way.check(),
            _ if self.mode == RelayMode::Forwarder => {
                let problem = "a forwarder has nothing to do without a network";
                Err(Error::params("load", problem))
            }
            _ => Ok(()),
        }
    }
}

impl RelayPath {
    fn check(&self) -> Result<(), Error> {
        if self.protocol == Protocol::Sctp {
            return Err(Error::params("load.network.protocol", "is tcp or udp"));
        }
        for (field, address) in [
            ("load.network.address", self.address),
            ("load.network.next_address", self.next_address),
        ] {
            let is_within = self.interface == LOOPBACK && address.is_loopback();
            if !is_within {
                EndpointAddress::check(address).map_err(|problem| Error::params(field, problem))?;
            }
        }
        Ok(())
    }

    pub(super) fn local(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address, self.port.get())
    }

    pub(super) fn next(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.next_address, self.next_port.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::params::read_value;
    use serde_json::{Value, json};

    fn network(changes: Value) -> Value {
        let mut way = json!({
            "protocol": "tcp", "connection": "fresh", "interface": "src0", "address": "198.18.0.2", "port": 5001,
            "next_address": "198.18.0.3", "next_port": 5002, "timeout_ms": 1000,
        });
        way.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        json!({"mode": "master", "cpu": 0, "message_bytes": 4, "load": {"network": way}})
    }

    fn problem(relays: &[Value]) -> String {
        let params = read_value(json!({"relays": relays}));
        let checked = params.and_then(|params: RelayOpenParams| params.check());
        checked.map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    fn of(mode: &str, message_bytes: usize, load: Value) -> Value {
        json!({"mode": mode, "cpu": null, "message_bytes": message_bytes, "load": load})
    }

    #[test]
    fn relays_within_the_bounds_are_accepted() {
        let within =
            json!({"interface": "lo", "address": "127.0.0.1", "next_address": "127.0.0.1"});
        for relays in [
            vec![network(json!({}))],
            vec![network(within)],
            vec![network(
                json!({"protocol": "udp", "connection": "persistent"}),
            )],
            vec![of("master", 1400, json!("nothing"))],
            vec![of("master", 4, json!({"output": "line"}))],
        ] {
            assert_eq!(problem(&relays), "none");
        }
    }

    #[test]
    fn relays_beyond_the_bounds_are_refused_by_the_field() {
        let way = "relays[0].load.network.";
        for (relays, field) in [
            (vec![], "relays: 0".to_owned()),
            (
                vec![of("master", 4, json!("nothing")); 2],
                "relays: the first".to_owned(),
            ),
            (
                vec![of("master", 3, json!("nothing"))],
                "relays[0].message_bytes: 3".to_owned(),
            ),
            (
                vec![of("master", 1401, json!("nothing"))],
                "relays[0].message_bytes: 1401".to_owned(),
            ),
            (
                vec![of("forwarder", 4, json!("nothing"))],
                "relays[0].load: a forwarder".to_owned(),
            ),
            (
                vec![network(json!({"protocol": "sctp"}))],
                format!("{way}protocol"),
            ),
            (
                vec![network(json!({"address": "127.0.0.1"}))],
                format!("{way}address: 127"),
            ),
            (
                vec![network(json!({"next_address": "0.0.0.0"}))],
                format!("{way}next_address: 0"),
            ),
            (vec![network(json!({"port": 0}))], format!("{way}port")),
            (
                vec![network(json!({"next_port": 0}))],
                format!("{way}next_port"),
            ),
            (
                vec![network(json!({"timeout_ms": 60_001}))],
                format!("{way}timeout_ms: 60001"),
            ),
        ] {
            let problem = problem(&relays);
            assert!(problem.starts_with(&field), "{problem}");
        }
    }

    #[test]
    fn runs_are_bounded() {
        let check = |iterations: u64, interval_ms: Option<f64>| {
            let params = json!({"trial": 1, "iterations": iterations, "interval_ms": interval_ms});
            read_value::<RelayGoParams>(params).is_ok()
        };
        assert!(check(1, None) && check(1_000_000, Some(0.1)));
        assert!(!check(0, None) && !check(1_000_001, None));
        assert!(!check(1, Some(0.0)) && !check(1, Some(60_001.0)));
    }
}
