//! # The methods: the one place where a name becomes a call

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::calls::LongCalls;
use super::message::{RpcError, read_params};
use super::meters::Meters;
use super::programs::Programs;
use super::slot::Slot;
use super::streams::Streams;
use crate::endpoint::requester::Requester;
use crate::endpoint::responder::{Counts, Responder};
use crate::guest::residence::Residence;
use crate::stress::Stress;
use crate::traffic::ingress::IngressDrop;
use crate::traffic::sink::Sink;
use crate::traffic::source::Source;
use crate::{Error, guest};

/// What the methods work on.
pub(super) struct Agent {
    pub(super) calls: LongCalls,
    source: Slot<Source>,
    sink: Slot<Sink>,
    ingress: Slot<IngressDrop>,
    pub(super) meters: Meters,
    responder: Slot<Responder>,
    requester: Slot<Requester>,
    pub(super) streams: Streams,
    pub(super) programs: Programs,
    pub(super) stress: Slot<Stress>,
    residence: Slot<Residence>,
}

/// How a request is answered.
pub(super) enum Answer<'a> {
    /// At once.
    Now(Value),
    /// When the job, to be run in a thread of its own, is done.
    Later(Job<'a>),
    /// At once, and then the agent ends.
    Last(Value),
}

/// A long call. It ends soon after [`LongCalls::abort`].
pub(super) type Job<'a> = Box<dyn FnOnce() -> Result<Value, RpcError> + Send + 'a>;

/// No params, or nothing to reply.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

impl Agent {
    pub(super) fn new() -> Self {
        Self {
            calls: LongCalls::default(),
            source: Slot::new("source"),
            sink: Slot::new("sink"),
            ingress: Slot::new("ingress"),
            meters: Meters::new(),
            responder: Slot::new("responder"),
            requester: Slot::new("requester"),
            streams: Streams::new(),
            programs: Programs::new(),
            stress: Slot::new("stress"),
            residence: Slot::new("residence"),
        }
    }

    pub(super) fn call(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Answer<'_>, RpcError> {
        match method {
            "ping" => {
                let Nothing {} = read_params(params)?;
                now(Nothing {})
            }
            "guest.configure" => {
                let params = read_params(params)?;
                self.later(method, move |abort| guest::configure(&params, abort))
            }
            "guest.set_egress_qdisc" => {
                let params = read_params(params)?;
                guest::egress::set(&params)?;
                now(Nothing {})
            }
            "guest.state" => {
                let Nothing {} = read_params(params)?;
                now(guest::state()?)
            }
            "residence.open" => {
                let Nothing {} = read_params(params)?;
                now(self
                    .residence
                    .open(|| Ok((Residence::open()?, Nothing {})))?)
            }
            "residence.read" => {
                let Nothing {} = read_params(params)?;
                let residence = self.residence.take()?.ok_or_else(|| {
                    Error::from(anyhow!("no frames are stamped; call residence.open first"))
                })?;
                now(residence.read()?)
            }
            "source.open" => {
                let params = read_params(params)?;
                now(self.source.open(|| {
                    let source = Source::open(&params)?;
                    let fitness = source.fitness();
                    Ok((source, fitness))
                })?)
            }
            "source.calibrate" => {
                let params = read_params(params)?;
                let mut source = self.source.lease()?;
                self.later(method, move |abort| source.calibrate(&params, abort))
            }
            "source.run" => {
                let params = read_params(params)?;
                let mut source = self.source.lease()?;
                self.later(method, move |abort| source.run(&params, abort))
            }
            "source.close" => {
                let Nothing {} = read_params(params)?;
                drop(self.source.take()?);
                now(Nothing {})
            }
            "sink.open" => {
                let params = read_params(params)?;
                now(self.sink.open(|| Sink::open(&params))?)
            }
            "sink.arm" => {
                let params = read_params(params)?;
                self.sink.lease()?.arm(&params)?;
                now(Nothing {})
            }
            "sink.collect" => {
                let params = read_params(params)?;
                let sink = self.sink.lease()?;
                self.later(method, move |abort| sink.collect(&params, abort))
            }
            "sink.histograms" => {
                let params = read_params(params)?;
                now(self.sink.lease()?.histograms(&params)?)
            }
            "sink.capture" => {
                let params = read_params(params)?;
                now(self.sink.lease()?.capture(&params)?)
            }
            "sink.close" => {
                let Nothing {} = read_params(params)?;
                if let Some(sink) = self.sink.take()? {
                    sink.close()?;
                }
                now(Nothing {})
            }
            "ingress.drop" => {
                let params = read_params(params)?;
                now(self
                    .ingress
                    .open(|| Ok((IngressDrop::open(&params)?, Nothing {})))?)
            }
            "ingress.release" => {
                let Nothing {} = read_params(params)?;
                let dropped = self.ingress.take()?.ok_or_else(|| {
                    Error::from(anyhow!("nothing is dropped; call ingress.drop first"))
                })?;
                now(dropped.release()?)
            }
            "responder.open" => {
                let params = read_params(params)?;
                now(self
                    .responder
                    .open(|| Ok((Responder::open(&params)?, Nothing {})))?)
            }
            "responder.close" => {
                let Nothing {} = read_params(params)?;
                now(match self.responder.take()? {
                    Some(responder) => responder.close()?,
                    None => Counts::default(),
                })
            }
            "requester.open" => {
                let params = read_params(params)?;
                now(self
                    .requester
                    .open(|| Ok((Requester::open(&params)?, Nothing {})))?)
            }
            "requester.go" => {
                let params = read_params(params)?;
                let mut requester = self.requester.lease()?;
                self.later(method, move |abort| requester.go(&params, abort))
            }
            "requester.collect" => {
                let Nothing {} = read_params(params)?;
                now(self.requester.lease()?.collect()?)
            }
            "requester.close" => {
                let Nothing {} = read_params(params)?;
                drop(self.requester.take()?);
                now(Nothing {})
            }
            "abort" => {
                let Nothing {} = read_params(params)?;
                self.calls.abort();
                self.abort_stress();
                now(Nothing {})
            }
            "shutdown" => {
                let Nothing {} = read_params(params)?;
                Ok(Answer::Last(to_value(Nothing {})))
            }
            _ => self.call_meters(method, params),
        }
    }

    pub(super) fn later<'a, R: Serialize>(
        &'a self,
        method: &str,
        job: impl FnOnce(&AtomicBool) -> Result<R, Error> + Send + 'a,
    ) -> Result<Answer<'a>, RpcError> {
        let call = self.calls.begin(method)?;
        Ok(Answer::Later(Box::new(move || {
            Ok(to_value(job(&call.abort)?))
        })))
    }
}

pub(super) fn now<'a>(reply: impl Serialize) -> Result<Answer<'a>, RpcError> {
    Ok(Answer::Now(to_value(reply)))
}

fn to_value(reply: impl Serialize) -> Value {
    serde_json::to_value(reply).expect("replies have string keys only")
}
