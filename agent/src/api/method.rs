//! # A method, and the ways to answer one
//!
//! Each way takes what implements the method and learns the types of its params and its answer from it.

use std::sync::atomic::AtomicBool;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::agent::{Agent, Held};
use super::params;
use super::schemas::Schemas;
use crate::error::Error;

/// What can be asked of the agent.
pub(crate) struct Method {
    pub(super) name: &'static str,
    doc: &'static str,
    handler: Handler,
}

/// How a call of a method is answered.
pub(super) struct Handler {
    answer: Box<Answerer>,
    /// Whether the call has a thread of its own, other calls are answered meanwhile, and `abort` ends it.
    is_long: bool,
    params: fn(&mut Schemas) -> Value,
    reply: fn(&mut Schemas) -> Value,
    /// The list that a series of answers continues; None where one answer is all.
    series: Option<&'static str>,
}

/// Answers the call of the method of this name with these params.
type Answerer = dyn for<'a> Fn(&'a Agent, &'static str, Map<String, Value>) -> Result<Answer<'a>, Error>
    + Send
    + Sync;

/// A method's params.
pub(super) trait Params: DeserializeOwned + JsonSchema {}
impl<P: DeserializeOwned + JsonSchema> Params for P {}

/// What a method answers.
pub(super) trait Reply: Serialize + JsonSchema {}
impl<A: Serialize + JsonSchema> Reply for A {}

/// How a request is answered.
pub(crate) enum Answer<'a> {
    /// At once.
    Now(Value),
    /// When the job, to be run in a thread of its own, is done.
    Later(Job<'a>),
    /// At once, and then the agent ends.
    Last(Value),
}

/// A long call. It ends soon after [`Agent::abort`].
pub(crate) type Job<'a> = Box<dyn FnOnce() -> Result<Value, Error> + Send + 'a>;

/// The long part of a call, which ends soon after the flag is set.
pub(super) type Work<'a, A> = Box<dyn FnOnce(&AtomicBool) -> Result<A, Error> + Send + 'a>;

/// No params, or nothing to answer.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

impl Method {
    pub(super) const fn new(name: &'static str, doc: &'static str, handler: Handler) -> Self {
        Self { name, doc, handler }
    }

    /// Reads the params and carries out the call, or what of it goes before its long part.
    pub(crate) fn call<'a>(
        &self,
        agent: &'a Agent,
        params: Map<String, Value>,
    ) -> Result<Answer<'a>, Error> {
        (self.handler.answer)(agent, self.name, params)
    }

    /// The method as the schema describes it.
    pub(super) fn contract(&self, schemas: &mut Schemas) -> Value {
        let Handler {
            is_long,
            params,
            reply,
            series,
            ..
        } = self.handler;
        json!({
            "description": self.doc.trim(),
            "params": params(schemas),
            "answer": reply(schemas),
            "answers": if series.is_some() { "series" } else { "once" },
            "list": series,
            "long": is_long,
        })
    }
}

impl Handler {
    fn of<P: Params, A: Reply>(answer: Box<Answerer>) -> Self {
        Self {
            answer,
            is_long: false,
            params: Schemas::of_params::<P>,
            reply: Schemas::of_answer::<A>,
            series: None,
        }
    }

    /// Answers with a part of the list in its field `list`, from the param `first` on.
    pub(super) fn series(self, list: &'static str) -> Self {
        Self {
            series: Some(list),
            ..self
        }
    }
}

/// Answers at once.
pub(super) fn now<P: Params, A: Reply>(
    act: impl Fn(&Agent, &P) -> Result<A, Error> + Send + Sync + 'static,
) -> Handler {
    Handler::of::<P, A>(Box::new(move |agent, _, params| {
        let params = params::read(params)?;
        Ok(Answer::Now(to_value(act(agent, &params)?)))
    }))
}

/// Answers at once, and then the agent ends.
pub(super) fn last() -> Handler {
    Handler::of::<Nothing, Nothing>(Box::new(|_, _, params| {
        let nothing: Nothing = params::read(params)?;
        Ok(Answer::Last(to_value(nothing)))
    }))
}

/// Answers when the work is done that `begin` gives. Other calls are answered meanwhile.
pub(super) fn later<P: Params, A: Reply + 'static>(
    begin: impl for<'a> Fn(&'a Agent, P) -> Result<Work<'a, A>, Error> + Send + Sync + 'static,
) -> Handler {
    let handler = Handler::of::<P, A>(Box::new(move |agent, name, params| {
        let work = begin(agent, params::read(params)?)?;
        let call = agent.calls.begin(name)?;
        Ok(Answer::Later(Box::new(move || {
            Ok(to_value(work(&call.abort)?))
        })))
    }));
    Handler {
        is_long: true,
        ..handler
    }
}

/// Opens what `make` gives, and closes what was open before.
pub(super) fn open<T: Held, P: Params>(
    make: impl Fn(&P) -> Result<T, Error> + Send + Sync + 'static,
) -> Handler {
    open_with(move |params| Ok((make(params)?, Nothing {})))
}

/// Opens the first thing that `make` gives, and answers with the second.
pub(super) fn open_with<T: Held, P: Params, A: Reply>(
    make: impl Fn(&P) -> Result<(T, A), Error> + Send + Sync + 'static,
) -> Handler {
    now(move |agent, params| T::slot(agent).open(|| make(params)))
}

/// Opens what `make` gives in a long call, since it takes its time.
pub(super) fn open_later<T: Held, P: Params + Send + 'static>(
    make: impl Fn(&P, &AtomicBool) -> Result<T, Error> + Copy + Send + Sync + 'static,
) -> Handler {
    later(move |agent, params: P| {
        Ok(Box::new(move |abort: &AtomicBool| {
            T::slot(agent).open(|| Ok((make(&params, abort)?, Nothing {})))
        }))
    })
}

/// Has what is open answer at once.
pub(super) fn ask<T: Held, P: Params, A: Reply>(
    act: impl Fn(&mut T, &P) -> Result<A, Error> + Send + Sync + 'static,
) -> Handler {
    now(move |agent, params| act(&mut *T::slot(agent).lease()?, params))
}

/// Has what is open do something that has no answer.
pub(super) fn tell<T: Held, P: Params>(
    act: impl Fn(&mut T, &P) -> Result<(), Error> + Send + Sync + 'static,
) -> Handler {
    ask(move |held, params| act(held, params).map(|()| Nothing {}))
}

/// Has what is open do something that takes its time; no other call may use it meanwhile.
pub(super) fn run<T: Held, P: Params + Send + 'static, A: Reply + 'static>(
    act: impl Fn(&mut T, &P, &AtomicBool) -> Result<A, Error> + Copy + Send + Sync + 'static,
) -> Handler {
    later(move |agent, params: P| {
        let mut held = T::slot(agent).lease()?;
        Ok(Box::new(move |abort: &AtomicBool| {
            act(&mut held, &params, abort)
        }))
    })
}

/// Closes what is open, if anything is.
pub(super) fn close<T: Held>() -> Handler {
    close_with(|held: Option<T>| {
        drop(held);
        Ok(Nothing {})
    })
}

/// Closes what is open, if anything is, and answers with what `end` makes of it.
pub(super) fn close_with<T: Held, A: Reply>(
    end: impl Fn(Option<T>) -> Result<A, Error> + Send + Sync + 'static,
) -> Handler {
    now(move |agent, _: &Nothing| end(T::slot(agent).take()?))
}

fn to_value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("answers have string keys only")
}
