//! # What the methods work on

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::calls::LongCalls;
use super::slot::Slot;
use crate::endpoint::echo::Echo;
use crate::endpoint::program::{Client, Files, Server};
use crate::endpoint::receiver::Receiver;
use crate::endpoint::relay::Relays;
use crate::endpoint::requester::Requester;
use crate::endpoint::responder::Responder;
use crate::endpoint::sender::Sender;
use crate::guest::residence::Residence;
use crate::meter::canary::Canary;
use crate::meter::cpu::Cpu;
use crate::meter::drops::Drops;
use crate::meter::stages::Stages;
use crate::stress::Stress;
use crate::traffic::ingress::IngressDrop;
use crate::traffic::sink::Sink;
use crate::traffic::source::Source;

/// Something that the agent has at most one of, between the call that opens it and the one that closes it.
pub(super) trait Held: Sized + Send + 'static {
    fn slot(agent: &Agent) -> &Slot<Self>;
}

/// Makes [`Agent`] of the slots: each has the name that the methods of what it holds begin with.
macro_rules! agent {
    ($($name:ident: $held:ty),* $(,)?) => {
        /// What one control stream works on.
        pub(crate) struct Agent {
            pub(super) calls: LongCalls,
            files: Mutex<Files>,
            $($name: Slot<$held>),*
        }

        impl Agent {
            pub(crate) fn new() -> Self {
                Self {
                    calls: LongCalls::default(),
                    files: Mutex::default(),
                    $($name: Slot::new(stringify!($name))),*
                }
            }
        }

        $(impl Held for $held {
            fn slot(agent: &Agent) -> &Slot<Self> {
                &agent.$name
            }
        })*
    };
}

agent! {
    canary: Canary,
    client: Client,
    cpu: Cpu,
    drops: Drops,
    echo: Echo,
    ingress: IngressDrop,
    receiver: Receiver,
    relay: Relays,
    requester: Requester,
    residence: Residence,
    responder: Responder,
    sender: Sender,
    server: Server,
    sink: Sink,
    source: Source,
    stages: Stages,
    stress: Stress,
}

impl Agent {
    /// Ends the long calls that are under way, and the stress that is at work.
    pub(crate) fn abort(&self) {
        self.calls.abort();
        if let Ok(stress) = self.stress.lease() {
            stress.abort();
        }
    }

    /// The files that programs are started with.
    pub(super) fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
