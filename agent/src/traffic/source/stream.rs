//! # A stream and its way out

use std::io;

use anyhow::{Context, anyhow};
use nix::net::if_::if_nametoindex;

use super::feed::Feed;
use super::params::StreamParams;
use super::socket::{PacketSocket, Queueing};
use crate::traffic::frame::{self, BEYOND_MTU_BYTES, Lane};
use crate::{Error, netdevice};

#[derive(Debug)]
pub(super) struct Stream {
    params: StreamParams,
    main: PacketSocket,
    probes: PacketSocket,
}

impl Stream {
    /// Opens the stream's sockets; `field` is where the params describe it.
    pub(super) fn open(field: &str, params: &StreamParams) -> Result<Self, Error> {
        let interface = params.interface.as_str();
        let index = if_nametoindex(interface).map_err(|errno| {
            let problem = format!(
                "no `{interface}` in the agent's network namespace ({})",
                errno.desc()
            );
            Error::params(format!("{field}.interface"), problem)
        })?;
        let socket = |queueing| {
            PacketSocket::open(index, queueing).with_context(|| {
                format!("cannot open a packet socket on {interface}; grant CAP_NET_RAW")
            })
        };
        Ok(Self {
            params: params.clone(),
            main: socket(Queueing::Qdisc)?,
            probes: socket(Queueing::Bypass)?,
        })
    }

    pub(super) fn number(&self) -> u8 {
        self.params.stream
    }

    /// Whether the interface is up and takes frames of this length.
    pub(super) fn check_frame_bytes(&self, frame_bytes: usize) -> Result<(), Error> {
        let interface = self.params.interface.as_str();
        let ask =
            || -> io::Result<_> { Ok((netdevice::is_up(interface)?, netdevice::mtu(interface)?)) };
        let (is_up, mtu) =
            ask().with_context(|| format!("cannot query {interface}; open the source again"))?;
        if !is_up {
            return Err(anyhow!("{interface} is down; set it up first").into());
        }
        let greatest = mtu as usize + BEYOND_MTU_BYTES;
        if frame_bytes > greatest {
            let problem = format!("{interface} with MTU {mtu} takes frames up to {greatest} bytes");
            return Err(Error::params("frame_bytes", problem));
        }
        Ok(())
    }

    /// The stream's frames for one trial.
    pub(super) fn feed(&self, lane: Lane, trial: u32, frame_bytes: usize) -> Feed<'_> {
        let endpoints = self.params.endpoints();
        let frame = frame::build(&endpoints, trial, self.number(), lane, frame_bytes);
        match lane {
            Lane::Main => Feed::new(&self.main, &frame),
            Lane::Probes => Feed::new(&self.probes, &frame),
        }
    }
}
