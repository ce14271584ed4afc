//! The hooks: where in the kernel a frame can be met.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In the order in which a frame meets them at one interface, which is that of `enum hook` in stages.bpf.c.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(super) enum Hook {
    /// What a test frame's stamp tells: when it was due, or in a flood just before it was sent.
    Due,
    /// A thread begins to write the frame to a tap.
    Write,
    /// The driver gives the frame to the stack.
    Arrive,
    /// The stack takes it up: a bridge, routing or IP begin here.
    Receive,
    /// The stack gives it to the interface's queueing discipline.
    Queue,
    /// The driver gets it.
    Transmit,
    /// A tap's reader begins to copy it.
    Copy,
    /// The kernel is done with it.
    Free,
    /// It is dropped, as a sink's program ends frames.
    Drop,
}

impl Hook {
    pub(super) const ALL: [Self; 9] = [
        Self::Due,
        Self::Write,
        Self::Arrive,
        Self::Receive,
        Self::Queue,
        Self::Transmit,
        Self::Copy,
        Self::Free,
        Self::Drop,
    ];

    /// The kernel's tracepoints that the hook is; whichever of them a frame passes first counts.
    pub(super) fn tracepoints(self) -> &'static [&'static str] {
        match self {
            Self::Due | Self::Transmit => &["net_dev_start_xmit"],
            Self::Write => &["sys_enter"],
            Self::Arrive => &[
                "napi_gro_receive_entry",
                "netif_rx_entry",
                "netif_receive_skb_entry",
            ],
            Self::Receive => &["netif_receive_skb"],
            Self::Queue => &["net_dev_queue"],
            Self::Copy => &["skb_copy_datagram_iovec"],
            Self::Free => &["consume_skb"],
            Self::Drop => &["kfree_skb"],
        }
    }

    /// What else has to be watched: a frame that was written is known by its arrival, a stamp read when the driver gets it.
    pub(super) fn needs(self) -> Option<Self> {
        match self {
            Self::Write => Some(Self::Arrive),
            Self::Due => Some(Self::Transmit),
            _ => None,
        }
    }
}
