//! # The methods of bulk streams, echoes and relays

use serde_json::{Map, Value};

use super::message::{RpcError, read_params};
use super::methods::{Agent, Answer, Nothing, now};
use super::slot::Slot;
use crate::endpoint::echo::Echo;
use crate::endpoint::receiver::Receiver;
use crate::endpoint::relay::{CloseReply, Relays};
use crate::endpoint::sender::Sender;

/// What they work on.
pub(super) struct Streams {
    receiver: Slot<Receiver>,
    sender: Slot<Sender>,
    echo: Slot<Echo>,
    relay: Slot<Relays>,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            receiver: Slot::new("receiver"),
            sender: Slot::new("sender"),
            echo: Slot::new("echo"),
            relay: Slot::new("relay"),
        }
    }
}

impl Agent {
    pub(super) fn call_streams(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Answer<'_>, RpcError> {
        let Streams {
            receiver,
            sender,
            echo,
            relay,
        } = &self.streams;
        match method {
            "receiver.open" => {
                let params = read_params(params)?;
                now(receiver.open(|| Ok((Receiver::open(&params)?, Nothing {})))?)
            }
            "receiver.collect" => {
                let params = read_params(params)?;
                let receiver = receiver.lease()?;
                self.later(method, move |abort| receiver.collect(&params, abort))
            }
            "receiver.series" => {
                let params = read_params(params)?;
                now(receiver.lease()?.series(&params)?)
            }
            "receiver.close" => {
                let Nothing {} = read_params(params)?;
                drop(receiver.take()?);
                now(Nothing {})
            }
            "sender.open" => {
                let params = read_params(params)?;
                // It waits for its receiver, and so may be aborted.
                self.later(method, move |abort| {
                    sender.open(|| Ok((Sender::open(&params, abort)?, Nothing {})))
                })
            }
            "sender.go" => {
                let params = read_params(params)?;
                let mut sender = sender.lease()?;
                self.later(method, move |abort| sender.go(&params, abort))
            }
            "sender.collect" => {
                let Nothing {} = read_params(params)?;
                now(sender.lease()?.collect()?)
            }
            "sender.close" => {
                let Nothing {} = read_params(params)?;
                drop(sender.take()?);
                now(Nothing {})
            }
            "echo.open" => {
                let params = read_params(params)?;
                now(echo.open(|| Ok((Echo::open(&params)?, Nothing {})))?)
            }
            "echo.go" => {
                let params = read_params(params)?;
                let mut echo = echo.lease()?;
                self.later(method, move |abort| echo.go(&params, abort))
            }
            "echo.collect" => {
                let Nothing {} = read_params(params)?;
                now(echo.lease()?.collect()?)
            }
            "echo.close" => {
                let Nothing {} = read_params(params)?;
                drop(echo.take()?);
                now(Nothing {})
            }
            "relay.open" => {
                let params = read_params(params)?;
                now(relay.open(|| Ok((Relays::open(&params)?, Nothing {})))?)
            }
            "relay.go" => {
                let params = read_params(params)?;
                let mut relay = relay.lease()?;
                self.later(method, move |abort| relay.go(&params, abort))
            }
            "relay.watch" => {
                let Nothing {} = read_params(params)?;
                let mut relay = relay.lease()?;
                self.later(method, move |abort| {
                    relay.watch(abort)?;
                    Ok(Nothing {})
                })
            }
            "relay.collect" => {
                let Nothing {} = read_params(params)?;
                now(relay.lease()?.collect()?)
            }
            "relay.samples" => {
                let params = read_params(params)?;
                now(relay.lease()?.samples(&params)?)
            }
            "relay.close" => {
                let Nothing {} = read_params(params)?;
                now(relay
                    .take()?
                    .map_or_else(CloseReply::default, Relays::close))
            }
            _ => self.call_programs(method, params),
        }
    }
}
