//! # The methods of meters

use serde_json::{Map, Value};

use super::message::{RpcError, read_params};
use super::methods::{Agent, Answer, Nothing, now};
use super::slot::Slot;
use crate::meter::cpu::Cpu;
use crate::meter::drops::Drops;
use crate::meter::stages::{self, Stages};

/// What they work on.
pub(super) struct Meters {
    drops: Slot<Drops>,
    cpu: Slot<Cpu>,
    stages: Slot<Stages>,
}

impl Meters {
    pub(super) fn new() -> Self {
        Self {
            drops: Slot::new("drops"),
            cpu: Slot::new("cpu"),
            stages: Slot::new("stages"),
        }
    }
}

impl Agent {
    pub(super) fn call_meters(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Answer<'_>, RpcError> {
        let Meters { drops, cpu, stages } = &self.meters;
        match method {
            "drops.open" => {
                let params = read_params(params)?;
                now(drops.open(|| Ok((Drops::open(&params)?, Nothing {})))?)
            }
            "drops.read" => {
                let Nothing {} = read_params(params)?;
                now(drops.lease()?.read()?)
            }
            "drops.close" => {
                let Nothing {} = read_params(params)?;
                drop(drops.take()?);
                now(Nothing {})
            }
            "cpu.open" => {
                let params = read_params(params)?;
                now(cpu.open(|| Ok((Cpu::open(&params)?, Nothing {})))?)
            }
            "cpu.arm" => {
                let params = read_params(params)?;
                cpu.lease()?.arm(&params)?;
                now(Nothing {})
            }
            "cpu.read" => {
                let params = read_params(params)?;
                now(cpu.lease()?.read(&params)?)
            }
            "cpu.close" => {
                let Nothing {} = read_params(params)?;
                drop(cpu.take()?);
                now(Nothing {})
            }
            "stages.probe" => {
                let Nothing {} = read_params(params)?;
                now(stages::probe()?)
            }
            "stages.open" => {
                let params = read_params(params)?;
                now(stages.open(|| Stages::open(&params))?)
            }
            "stages.arm" => {
                let params = read_params(params)?;
                stages.lease()?.arm(&params)?;
                now(Nothing {})
            }
            "stages.collect" => {
                let params = read_params(params)?;
                now(stages.lease()?.collect(&params)?)
            }
            "stages.packets" => {
                let params = read_params(params)?;
                now(stages.lease()?.packets(&params)?)
            }
            "stages.close" => {
                let Nothing {} = read_params(params)?;
                drop(stages.take()?);
                now(Nothing {})
            }
            _ => self.call_streams(method, params),
        }
    }
}
