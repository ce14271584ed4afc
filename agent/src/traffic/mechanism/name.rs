//! # The names of mechanisms

use std::fmt::{Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way to send frames: as scenarios, replies and results name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Mechanism")]
pub(crate) enum Name {
    /// Frames one by one through a packet socket.
    Raw,
    /// Trains of frames through a packet socket, which the kernel cuts apart.
    Gso,
    /// Frames in memory shared with the kernel, straight to the driver.
    AfXdp,
    /// Frames that the kernel makes, straight to the driver.
    Pktgen,
}

impl Name {
    pub(in crate::traffic) const ALL: [Self; 4] = [Self::Raw, Self::Gso, Self::AfXdp, Self::Pktgen];
    /// Those whose frames the agent makes.
    pub(in crate::traffic) const OWN: [Self; 3] = [Self::Raw, Self::Gso, Self::AfXdp];
}

impl Display for Name {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Raw => "raw",
            Self::Gso => "gso",
            Self::AfXdp => "af_xdp",
            Self::Pktgen => "pktgen",
        })
    }
}
