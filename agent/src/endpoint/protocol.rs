//! # The transport protocols of endpoints

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::{GREATEST_BYTES, GREATEST_DATAGRAM_BYTES};
use crate::error::Error;

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protocol {
    Tcp,
    Udp,
    /// One association a socket, which is used as a connection is.
    Sctp,
}

impl Protocol {
    /// Whether each message is for itself, and may be lost.
    pub(super) fn is_datagram(self) -> bool {
        self == Self::Udp
    }

    /// Whether one message may be so long.
    pub(super) fn check_bytes(self, field: &str, bytes: usize) -> Result<(), Error> {
        let greatest = match self {
            Self::Tcp | Self::Sctp => GREATEST_BYTES,
            Self::Udp => GREATEST_DATAGRAM_BYTES,
        };
        if bytes > greatest {
            let problem = format!("{bytes} is above the {greatest} that one message may have");
            return Err(Error::params(field, problem));
        }
        Ok(())
    }
}
