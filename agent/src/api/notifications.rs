//! # What the agent reports without being asked

use schemars::JsonSchema;
use serde::Serialize;

/// Changes with the meaning of any message.
pub(crate) const PROTOCOL: u32 = 1;

/// The first line an agent sends; a guest is up once its host has read it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Hello {
    /// The version of the protocol.
    pub(crate) protocol: u32,
    /// The version of the agent.
    pub(crate) version: &'static str,
    /// The release of the kernel that the agent runs on.
    pub(crate) kernel: String,
    /// The number of CPUs online.
    pub(crate) cpus: i64,
    /// Seconds since this kernel started.
    pub(crate) uptime_s: f64,
}

/// The agent's end in a guest that lives on.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Died {
    /// How it ended, in words that follow "the agent".
    pub(crate) reason: String,
}

/// How much the agent has read of a control stream that is a terminal.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Read {
    /// Bytes since the stream began.
    pub(crate) bytes: usize,
}
