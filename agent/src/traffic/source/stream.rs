//! # A stream and its ways out

use std::io;

use anyhow::{Context, anyhow};

use super::feed::Feed;
use super::generated::Generated;
use super::link::Link;
use super::params::{Rates, SourceOpenParams, SourceRunParams, SourceStream};
use super::reply::MechanismRefusal;
use super::variety::Variety;
use crate::error::Error;
use crate::netdevice;
use crate::traffic::frame::{self, Endpoints, Lane};
use crate::traffic::interface::Interface;
use crate::traffic::mechanism::{self, Device, Fitness, Mechanism, Name, Way};

/// What the streams bring to a load.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// Of frames that the agent makes,
    pub(super) feeds: Vec<Feed<'a>>,
    /// or the kernel.
    pub(super) devices: Vec<&'a Device>,
    pub(super) probes: Vec<Feed<'a>>,
}

#[derive(Debug)]
pub(super) struct Stream {
    params: SourceStream,
    endpoints: Endpoints,
    ways: Vec<(Name, Way)>,
    refused: Vec<MechanismRefusal>,
    probes: Box<dyn Mechanism>,
}

impl Stream {
    /// Opens every mechanism asked for that the interface of the stream at `at` is fit for, `raw` at least. An XDP socket has its
    /// interface for itself, so that none is opened on a shared one.
    pub(super) fn open(source: &SourceOpenParams, at: usize) -> Result<Self, Error> {
        let (params, field) = (&source.streams[at], format!("streams[{at}]"));
        let same = |other: &&SourceStream| other.interface == params.interface;
        let shared = source.streams.iter().filter(same).count() > 1;
        let interface = Interface::find(&format!("{field}.interface"), &params.interface)?;
        let fitness = Fitness::of(&interface)?;
        let endpoints = params.endpoints(&field)?;
        let open = |name| {
            mechanism::open(
                name,
                &interface,
                source.cpu,
                params.stream.get(),
                &endpoints,
            )
        };
        let mut stream = Self {
            params: params.clone(),
            endpoints,
            ways: vec![(Name::Raw, open(Name::Raw)?)],
            refused: Vec::new(),
            probes: mechanism::open_bypass(&interface)?,
        };
        let asked = |&name: &Name| name != Name::Raw && source.mechanisms.contains(&name);
        for name in Name::ALL.into_iter().filter(asked) {
            let refusal = match name {
                Name::AfXdp if shared => Some(format!("{} serves several streams", interface.name)),
                _ => fitness.refusal(name),
            };
            let opened = match refusal {
                None => open(name).map_err(|error| format!("{error:#}")),
                Some(reason) => Err(reason),
            };
            match opened {
                Ok(way) => stream.ways.push((name, way)),
                Err(reason) => stream.refused.push(MechanismRefusal {
                    mechanism: name,
                    reason,
                }),
            }
        }
        Ok(stream)
    }

    pub(super) fn number(&self) -> u8 {
        self.params.stream.get()
    }

    /// Why the stream does not use the mechanism; None where it can.
    pub(super) fn refusal(&self, name: Name) -> Option<&MechanismRefusal> {
        self.refused
            .iter()
            .find(|refusal| refusal.mechanism == name)
    }

    /// The mechanism, where it is open.
    pub(super) fn way(&self, name: Name) -> Option<&Way> {
        let mut ways = self.ways.iter();
        ways.find_map(|(other, way)| (*other == name).then_some(way))
    }

    /// Whether the stream can send such frames now: the mechanism is open, and the interface is up and takes them.
    pub(super) fn check(&self, params: &SourceRunParams) -> Result<(), Error> {
        let (name, lengths) = (params.mechanism, &params.frame_bytes);
        let interface = self.params.interface.as_str();
        if let Some(MechanismRefusal { reason, .. }) = self.refusal(name) {
            return Err(Error::params(
                "mechanism",
                format!("{name} is refused: {reason}"),
            ));
        }
        let Some(way) = self.way(name) else {
            let problem = format!("{name} is not open; name it in the mechanisms of source.open");
            return Err(Error::params("mechanism", problem));
        };
        if name == Name::Pktgen {
            Generated::check(params)?;
        }
        if lengths.is_mix() && name == Name::Gso {
            let problem = "a train has frames of one length: gso sends no mix".to_owned();
            return Err(Error::params("frame_bytes", problem));
        }
        if params.flows.get() > 1 && name == Name::Gso {
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
        let greatest = way.greatest_frame_bytes();
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

    /// Brings what makes the stream's frames for one trial, by a mechanism that was checked, and the probes besides.
    pub(super) fn join<'a>(
        &'a mut self,
        params: &SourceRunParams,
        rates: Rates,
        parts: &mut Parts<'a>,
    ) {
        let link = self.link(params, rates);
        let (endpoints, lengths) = (&self.endpoints, &params.frame_bytes);
        let number = self.params.stream.get();
        let interface = self.params.interface.as_str();
        let feed = |mechanism, lane| {
            let build = |bytes| frame::build(endpoints, params.trial, number, lane, bytes);
            let variety = Variety::of(endpoints, lengths, params.flows.get(), build);
            let longest = build(lengths.greatest());
            Feed::new(
                mechanism,
                interface,
                &longest,
                endpoints.header_bytes(),
                variety,
            )
        };
        let mut ways = self.ways.iter_mut();
        let (_, way) = ways
            .find(|(name, _)| *name == params.mechanism)
            .expect("a checked mechanism is open");
        match way {
            Way::Frames(mechanism) => parts
                .feeds
                .push(feed(mechanism.as_mut(), Lane::Main).on(link)),
            Way::Generator(device) => parts.devices.push(device),
        }
        parts.probes.push(feed(self.probes.as_mut(), Lane::Probes));
    }

    /// The link for one trial; None where the stream has none to keep to.
    fn link(&self, params: &SourceRunParams, rates: Rates) -> Option<Link> {
        let lengths = &params.frame_bytes;
        let rate_mbps = self.params.link_mbps?.get();
        // Those of a paced load are frames of its own.
        let beside_fps = params.intended_fps.map_or(params.probe_fps.get(), |_| 0.0);
        Some(match rates {
            Rates::Kept => Link::new(rate_mbps, lengths, beside_fps),
            Rates::Lifted => Link::unlimited(lengths),
        })
    }
}
