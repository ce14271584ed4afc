//! # A stream and its ways out

use std::io;

use anyhow::{Context, anyhow};

use super::feed::Feed;
use super::params::{RunParams, StreamParams};
use super::reply::Refusal;
use super::variety::Variety;
use crate::traffic::frame::{self, Endpoints, Lane};
use crate::traffic::interface::Interface;
use crate::traffic::lengths::Lengths;
use crate::traffic::mechanism::{self, Fitness, Mechanism, Name};
use crate::{Error, netdevice};

#[derive(Debug)]
pub(super) struct Stream {
    params: StreamParams,
    endpoints: Endpoints,
    mechanisms: Vec<(Name, Box<dyn Mechanism>)>,
    refused: Vec<Refusal>,
    probes: Box<dyn Mechanism>,
}

impl Stream {
    /// Opens every mechanism that the stream's interface is fit for, `raw` at least; `field` is where the params describe the
    /// stream. An XDP socket has its interface for itself, so that none is opened on a shared one.
    pub(super) fn open(field: &str, params: &StreamParams, shared: bool) -> Result<Self, Error> {
        let interface = Interface::find(&format!("{field}.interface"), &params.interface)?;
        let fitness = Fitness::of(&interface)?;
        let mut stream = Self {
            params: params.clone(),
            endpoints: params.endpoints(field)?,
            mechanisms: vec![(Name::Raw, mechanism::open(Name::Raw, &interface)?)],
            refused: Vec::new(),
            probes: mechanism::open_bypass(&interface)?,
        };
        for name in Name::ALL.into_iter().filter(|&name| name != Name::Raw) {
            let refusal = match name {
                Name::AfXdp if shared => Some(format!("{} serves several streams", interface.name)),
                _ => fitness.refusal(name),
            };
            let opened = match refusal {
                None => mechanism::open(name, &interface).map_err(|error| format!("{error:#}")),
                Some(reason) => Err(reason),
            };
            match opened {
                Ok(mechanism) => stream.mechanisms.push((name, mechanism)),
                Err(reason) => stream.refused.push(Refusal {
                    mechanism: name,
                    reason,
                }),
            }
        }
        Ok(stream)
    }

    pub(super) fn number(&self) -> u8 {
        self.params.stream
    }

    /// Why the stream does not use the mechanism; None where it can.
    pub(super) fn refusal(&self, name: Name) -> Option<&Refusal> {
        self.refused
            .iter()
            .find(|refusal| refusal.mechanism == name)
    }

    /// Whether the stream can send such frames now: the mechanism is not refused, and the interface is up and takes them.
    pub(super) fn check(&self, name: Name, lengths: &Lengths, flows: u32) -> Result<(), Error> {
        let interface = self.params.interface.as_str();
        if let Some(Refusal { reason, .. }) = self.refusal(name) {
            return Err(Error::params(
                "mechanism",
                format!("{name} is refused: {reason}"),
            ));
        }
        if lengths.is_mix() && name == Name::Gso {
            let problem = "a train has frames of one length: gso sends no mix".to_owned();
            return Err(Error::params("frame_bytes", problem));
        }
        if flows > 1 && name == Name::Gso {
            let problem = "a train is of one flow: gso sends no more".to_owned();
            return Err(Error::params("flows", problem));
        }
        let frame_bytes = lengths.greatest();
        let ask =
            || -> io::Result<_> { Ok((netdevice::is_up(interface)?, netdevice::mtu(interface)?)) };
        let (is_up, mtu) =
            ask().with_context(|| format!("cannot query {interface}; open the source again"))?;
        if !is_up {
            return Err(anyhow!("{interface} is down; set it up first").into());
        }
        let greatest = mtu as usize + self.endpoints.beyond_mtu_bytes();
        if frame_bytes > greatest {
            let problem = format!("{interface} with MTU {mtu} takes frames up to {greatest} bytes");
            return Err(Error::params("frame_bytes", problem));
        }
        let mechanisms = self.mechanisms.iter();
        let greatest = mechanisms
            .filter(|(other, _)| *other == name)
            .map(|(_, mechanism)| mechanism.greatest_frame_bytes())
            .sum();
        if frame_bytes > greatest {
            let problem = format!("{name} takes frames up to {greatest} bytes");
            return Err(Error::params("frame_bytes", problem));
        }
        Ok(())
    }

    /// The shortest frame that the stream can send.
    pub(super) fn least_frame_bytes(&self) -> usize {
        self.endpoints.least_frame_bytes()
    }

    /// The stream's frames for one trial, by a mechanism that was checked, and the probes besides.
    pub(super) fn feeds(&mut self, params: &RunParams) -> (Feed<'_>, Feed<'_>) {
        let (endpoints, lengths) = (&self.endpoints, &params.frame_bytes);
        let number = self.params.stream;
        let interface = self.params.interface.as_str();
        let feed = |mechanism, lane| {
            let build = |bytes| frame::build(endpoints, params.trial, number, lane, bytes);
            let variety = Variety::of(endpoints, lengths, params.flows, build);
            let longest = build(lengths.greatest());
            Feed::new(
                mechanism,
                interface,
                &longest,
                endpoints.header_bytes(),
                variety,
            )
        };
        let mechanisms = self.mechanisms.iter_mut();
        let main = mechanisms
            .filter(|(other, _)| *other == params.mechanism)
            .map(|(_, mechanism)| mechanism.as_mut())
            .next()
            .expect("a checked mechanism is open");
        let probes = self.probes.as_mut();
        (feed(main, Lane::Main), feed(probes, Lane::Probes))
    }
}
