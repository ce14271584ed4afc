//! Which method does what. A new one is a line in `method`.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::message::{RpcError, read_params};
use crate::guest;
use crate::traffic::ingress::IngressDrop;
use crate::traffic::sink::Sink;
use crate::traffic::source::Source;

type Outcome = Result<Value, RpcError>;
type Act = fn(&Agent, Value) -> Outcome;

/// How a method is carried out.
pub enum Method {
    /// At once, before the next message is read.
    Quick(Act),
    /// In a thread of its own, so that `ping` and `abort` are answered meanwhile.
    Long(Act),
    Shutdown,
}

/// The method of that name.
pub fn method(name: &str) -> Option<Method> {
    use Method::{Long, Quick, Shutdown};
    Some(match name {
        "ping" => Quick(|_, _| Ok(json!({}))),
        "abort" => Quick(|agent, _| {
            agent.abort();
            Ok(json!({}))
        }),
        "guest.configure" => Quick(|_, params| told(&guest::configure(read_params(params)?)?)),
        "source.open" => {
            Quick(|agent, params| agent.source.put(Source::open(read_params(params)?)?))
        }
        "source.run" => Long(|agent, params| {
            let params = read_params(params)?;
            agent
                .source
                .using("source", |source, abort| told(&source.run(&params, abort)?))
        }),
        "source.close" => Quick(|agent, _| agent.source.take("source").map(|_| json!({}))),
        "sink.open" => Quick(|agent, params| {
            let (sink, reply) = Sink::open(&read_params(params)?)?;
            agent.sink.put(sink)?;
            told(&reply)
        }),
        "sink.arm" => Quick(|agent, params| {
            let params = read_params(params)?;
            agent.sink.using("sink", |sink, _| {
                Ok(sink.arm(&params).map(|()| json!({}))?)
            })
        }),
        "sink.collect" => Long(|agent, params| {
            let params = read_params(params)?;
            agent
                .sink
                .using("sink", |sink, abort| told(&sink.collect(&params, abort)?))
        }),
        "sink.close" => Quick(|agent, _| {
            agent.sink.take("sink")?.close()?;
            Ok(json!({}))
        }),
        "ingress.drop" => {
            Quick(|agent, params| agent.ingress.put(IngressDrop::open(&read_params(params)?)?))
        }
        "ingress.release" => {
            Quick(|agent, _| told(&agent.ingress.take("ingress drop")?.release()?))
        }
        "shutdown" => Shutdown,
        _ => return None,
    })
}

fn told(reply: &impl Serialize) -> Outcome {
    serde_json::to_value(reply).map_err(|error| RpcError::failed(error.to_string()))
}

/// All that an agent has open.
#[derive(Default)]
pub struct Agent {
    source: Slot<Source>,
    sink: Slot<Sink>,
    ingress: Slot<IngressDrop>,
}

impl Agent {
    /// Ends long calls early; they answer with what they have.
    pub fn abort(&self) {
        self.source.abort.store(true, Relaxed);
        self.sink.abort.store(true, Relaxed);
    }

    /// Stops all traffic and detaches everything.
    pub fn stop(&self) {
        self.source.end();
        self.sink.end();
        self.ingress.end();
    }
}

/// A thing that is open or not, and used by one call at a time.
struct Slot<T> {
    thing: Mutex<Option<T>>,
    abort: AtomicBool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self {
            thing: Mutex::new(None),
            abort: AtomicBool::new(false),
        }
    }
}

impl<T> Slot<T> {
    /// Opens it, in place of the one before.
    fn put(&self, thing: T) -> Outcome {
        *self.free()? = Some(thing);
        Ok(json!({}))
    }

    fn take(&self, what: &str) -> Result<T, RpcError> {
        self.free()?.take().ok_or_else(|| not_open(what))
    }

    fn using(&self, what: &str, act: impl FnOnce(&mut T, &AtomicBool) -> Outcome) -> Outcome {
        let mut thing = self.free()?;
        self.abort.store(false, Relaxed);
        act(thing.as_mut().ok_or_else(|| not_open(what))?, &self.abort)
    }

    fn free(&self) -> Result<MutexGuard<'_, Option<T>>, RpcError> {
        match self.thing.try_lock() {
            Ok(thing) => Ok(thing),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(RpcError::failed(
                "busy with an earlier call; wait for its reply or abort it",
            )),
        }
    }

    /// Ends what uses it, also a call that is only just beginning, and closes it.
    fn end(&self) {
        loop {
            self.abort.store(true, Relaxed);
            if let Ok(mut thing) = self.free() {
                return drop(thing.take());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn not_open(what: &str) -> RpcError {
    RpcError::failed(format!("no {what} is open"))
}
