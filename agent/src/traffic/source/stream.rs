//! # A stream and its ways out

use std::io;

use anyhow::{Context, anyhow};

use super::feed::{Feed, Placed};
use super::generated::Generated;
use super::link::Link;
use super::params::{Rates, SourceOpenParams, SourceRunParams, SourceStream};
use super::reply::MechanismRefusal;
use super::variety::Variety;
use crate::api::values::Positive;
use crate::error::Error;
use crate::netdevice;
use crate::traffic::frame::{self, Endpoints, Lane};
use crate::traffic::interface::Interface;
use crate::traffic::mechanism::{self, Device, Fitness, Mechanism, Name, Outlet, Way};
use crate::traffic::strand::Strand;

/// What the streams bring to the loads of a run.
pub(super) struct Sending<'a> {
    /// Of frames that the agent makes, by the place of the thread's CPU,
    pub(super) strands: Vec<Vec<Placed<'a>>>,
    /// or the kernel.
    pub(super) devices: Vec<&'a Device>,
    pub(super) probes: Vec<Placed<'a>>,
}

impl Sending<'_> {
    pub(super) fn by(threads: usize) -> Self {
        Self {
            strands: (0..threads).map(|_| Vec::new()).collect(),
            devices: Vec::new(),
            probes: Vec::new(),
        }
    }
}

/// A way out for each strand; the kernel's own frames are of one.
type Ways = Vec<Way>;

#[derive(Debug)]
pub(super) struct Stream {
    /// Among those of the source.
    place: usize,
    params: SourceStream,
    endpoints: Endpoints,
    /// Each with the place of its thread's CPU.
    strands: Vec<(Strand, usize)>,
    ways: Vec<(Name, Ways)>,
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
        let number = params.stream.get();
        let strands: Vec<_> = source.strands.each().collect();
        let threads = strands.iter().map(|strand| source.thread_of(at, *strand));
        let threads: Vec<_> = threads.collect();
        let open = |name| -> anyhow::Result<Ways> {
            let each = strands.iter().zip(&threads);
            each.map(|(strand, &thread)| {
                let outlet = Outlet {
                    cpu: source.cpus[thread],
                    queue: strand.place as u32,
                    strands: strands.len(),
                };
                mechanism::open(name, &interface, outlet, number, &endpoints)
            })
            .collect()
        };
        let mut stream = Self {
            place: at,
            params: params.clone(),
            endpoints,
            ways: vec![(Name::Raw, open(Name::Raw)?)],
            refused: Vec::new(),
            probes: mechanism::open_bypass(&interface)?,
            strands: strands.iter().copied().zip(threads.clone()).collect(),
        };
        let asked = |&name: &Name| name != Name::Raw && source.mechanisms.contains(&name);
        for name in Name::ALL.into_iter().filter(asked) {
            let refusal = match name {
                Name::AfXdp if shared => Some(format!("{} serves several streams", interface.name)),
                Name::Pktgen if source.cpus.len() * strands.len() > 1 => {
                    Some("pktgen's threads begin one after the other: it has one CPU".to_owned())
                }
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
        ways.find_map(|(other, ways)| (*other == name).then_some(ways)?.first())
    }

    /// The places of the CPUs that send its strands.
    pub(super) fn threads(&self) -> impl Iterator<Item = usize> {
        self.strands.iter().map(|(_, thread)| *thread)
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
        sending: &mut Sending<'a>,
    ) {
        let link_mbps = self.params.link_mbps.map(Positive::get);
        let link = |strand| link_of(link_mbps?, params, rates, strand);
        let (endpoints, lengths) = (&self.endpoints, &params.frame_bytes);
        let (number, place) = (self.params.stream.get(), self.place);
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
        let placed = |feed| Placed {
            stream: place,
            feed,
        };
        let mut ways = self.ways.iter_mut();
        let (_, ways) = ways
            .find(|(name, _)| *name == params.mechanism)
            .expect("a checked mechanism is open");
        for (way, &(strand, thread)) in ways.iter_mut().zip(&self.strands) {
            match way {
                Way::Frames(mechanism) => {
                    let feed = feed(mechanism.as_mut(), Lane::Main);
                    let feed = feed.on(link(strand)).of(strand);
                    sending.strands[thread].push(placed(feed));
                }
                Way::Generator(device) => sending.devices.push(device),
            }
        }
        let probes = feed(self.probes.as_mut(), Lane::Probes);
        sending.probes.push(placed(probes));
    }
}

/// What a strand has of a link for one trial.
fn link_of(rate_mbps: f64, params: &SourceRunParams, rates: Rates, strand: Strand) -> Option<Link> {
    let lengths = &params.frame_bytes;
    // Those of a paced load are frames of its own.
    let beside_fps = params.intended_fps.map_or(params.probe_fps.get(), |_| 0.0);
    Some(match rates {
        Rates::Kept => Link::new(rate_mbps, lengths, beside_fps, strand),
        Rates::Lifted => Link::unlimited(lengths, strand),
    })
}
