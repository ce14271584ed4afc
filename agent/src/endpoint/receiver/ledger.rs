//! # What a receiver counts, as its thread and its calls share it

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::flow::{End, Flow, STEP_NS};
use super::params::ReceiverOpenParams;
use crate::endpoint::record::{Piece, Record};

/// What entered no flow's count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ReceiverRefused {
    /// Datagrams that are no record, and connections broken off where none followed.
    pub(super) foreign: u64,
    /// Datagrams and connections of another trial.
    pub(super) trial: u64,
    /// Datagrams and connections of a flow that does not exist, or that another connection is.
    pub(super) flow: u64,
    /// Connections beyond the number of flows.
    pub(super) surplus: u64,
}

#[derive(Debug)]
pub(super) struct Ledger {
    trial: u32,
    warmup_ns: u64,
    pub(super) window_ns: u64,
    pub(super) flows: Vec<Flow>,
    pub(super) refused: ReceiverRefused,
    /// The first arrival of any flow and phase: the window begins a warm-up later.
    pub(super) first_arrival_ns: Option<u64>,
    /// The last arrival of any phase.
    pub(super) arrival_ns: Option<u64>,
    /// Why the receiver's thread ended by itself.
    pub(super) problem: Option<String>,
}

impl Ledger {
    fn new(params: &ReceiverOpenParams) -> Self {
        let window_ns = params.window_ns();
        let steps = window_ns / STEP_NS + 1;
        let flow = || Flow::new(params.protocol.is_datagram(), steps as usize);
        Self {
            trial: params.trial,
            warmup_ns: params.warmup_ns(),
            window_ns,
            flows: (0..params.flows.get()).map(|_| flow()).collect(),
            refused: ReceiverRefused::default(),
            first_arrival_ns: None,
            arrival_ns: None,
            problem: None,
        }
    }

    /// Has the connection that a record came on be its flow.
    pub(super) fn connect(&mut self, record: &Record) -> Result<usize, End> {
        let flow = usize::from(record.flow);
        if !self.admits(record) {
            return Err(End::Broken("of another trial, or of no flow".to_owned()));
        }
        if !self.flows[flow].connect() {
            self.refused.flow += 1;
            return Err(End::Broken("another connection is this flow".to_owned()));
        }
        Ok(flow)
    }

    /// Whether a record is of this trial and one of the flows; counted where it is not.
    #[inline]
    pub(super) fn admits(&mut self, record: &Record) -> bool {
        let is_of_trial = record.trial == self.trial;
        let has_flow = usize::from(record.flow) < self.flows.len();
        if !is_of_trial {
            self.refused.trial += 1;
        } else if !has_flow {
            self.refused.flow += 1;
        }
        is_of_trial && has_flow
    }

    /// Counts what came of a record that was admitted.
    #[inline]
    pub(super) fn count(&mut self, piece: &Piece, now_ns: u64) {
        let start_ns = *self.first_arrival_ns.get_or_insert(now_ns) + self.warmup_ns;
        self.arrival_ns = Some(now_ns);
        let flow = &mut self.flows[usize::from(piece.record.flow)];
        flow.count(piece, now_ns, start_ns, self.window_ns);
    }
}

/// The ledger behind its lock.
#[derive(Debug)]
pub(super) struct Shared {
    ledger: Mutex<Ledger>,
    ended: Condvar,
}

impl Shared {
    pub(super) fn new(params: &ReceiverOpenParams) -> Self {
        Self {
            ledger: Mutex::new(Ledger::new(params)),
            ended: Condvar::new(),
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    /// Ends a flow whose kernel let its buffer hold so much, and wakes who waits for that.
    pub(super) fn end_flow(&self, flow: usize, end: End, buffer_bytes: Option<usize>) {
        let ended = &mut self.ledger().flows[flow];
        ended.buffer_bytes = buffer_bytes;
        ended.end(end);
        self.ended.notify_all();
    }

    /// Tells that the thread has ended by itself.
    pub(super) fn fail(&self, problem: String) {
        self.ledger().problem = Some(problem);
        self.ended.notify_all();
    }

    /// Waits until a flow ends, at most for `limit`.
    pub(super) fn await_end<'a>(
        &'a self,
        ledger: MutexGuard<'a, Ledger>,
        limit: Duration,
    ) -> MutexGuard<'a, Ledger> {
        let waited = self.ended.wait_timeout(ledger, limit);
        waited.unwrap_or_else(|poison| poison.into_inner()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::record::Phase;
    use serde_json::json;

    fn ledger() -> Ledger {
        let params = json!({
            "cpu": 0, "protocol": "tcp", "interface": "snk0", "address": "198.18.0.3", "port": 5000, "flows": 2,
            "trial": 7, "warmup_s": 1.0, "duration_s": 1.0,
        });
        Ledger::new(&serde_json::from_value(params).unwrap())
    }

    fn record(trial: u32, flow: u8, phase: Phase) -> Record {
        Record {
            trial,
            length: 100,
            phase,
            flow,
            sequence: 0,
        }
    }

    #[test]
    fn a_flow_is_one_connection_of_the_trial() {
        let mut ledger = ledger();
        assert_eq!(ledger.connect(&record(7, 1, Phase::Warmup)).unwrap(), 1);
        for (trial, flow) in [(7, 1), (7, 2), (8, 0)] {
            assert!(ledger.connect(&record(trial, flow, Phase::Warmup)).is_err());
        }
        let ReceiverRefused { trial, flow, .. } = ledger.refused;
        assert_eq!((trial, flow), (1, 2));
    }

    #[test]
    fn the_series_of_all_flows_begin_a_warm_up_after_the_first_arrival() {
        let mut ledger = ledger();
        let came = |flow, phase| Piece {
            record: record(7, flow, phase),
            bytes: 100,
            is_first: true,
            is_last: true,
        };
        let second = 10 * STEP_NS;
        ledger.count(&came(0, Phase::Warmup), 5);
        ledger.count(&came(1, Phase::Measure), 4 + second);
        ledger.count(&came(1, Phase::Measure), 5 + second);
        ledger.count(&came(0, Phase::Measure), 5 + second + STEP_NS);
        assert_eq!(ledger.first_arrival_ns, Some(5));
        assert_eq!(ledger.flows[0].series(), [0, 100]);
        assert_eq!(ledger.flows[1].series(), [100]);
    }
}
