//! # The methods of stress

use serde_json::{Map, Value};

use super::message::{RpcError, read_params};
use super::methods::{Agent, Answer, Nothing, now};
use crate::stress::Stress;

impl Agent {
    pub(super) fn call_stress(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Answer<'_>, RpcError> {
        match method {
            "stress.open" => {
                let params = read_params(params)?;
                now(self
                    .stress
                    .open(|| Ok((Stress::open(&params)?, Nothing {})))?)
            }
            "stress.go" => {
                let Nothing {} = read_params(params)?;
                self.stress.lease()?.go()?;
                now(Nothing {})
            }
            "stress.collect" => {
                let Nothing {} = read_params(params)?;
                now(self.stress.lease()?.collect()?)
            }
            "stress.close" => {
                let Nothing {} = read_params(params)?;
                drop(self.stress.take()?);
                now(Nothing {})
            }
            _ => Err(RpcError::unknown_method(method)),
        }
    }

    /// Ends the stress that is at work, if any.
    pub(super) fn abort_stress(&self) {
        if let Ok(stress) = self.stress.lease() {
            stress.abort();
        }
    }
}
