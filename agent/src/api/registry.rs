//! # The registry: every method, once
//!
//! A method is one line here and two types, its params and its answer, beside what implements it.

use std::sync::LazyLock;

use anyhow::anyhow;

use super::agent::Held;
use super::method::{
    Method, Nothing, ask, close, close_with, last, later, now, open, open_later, open_with, run,
    tell,
};
use crate::endpoint::echo::Echo;
use crate::endpoint::program::{Client, Server, ServerOpenParams};
use crate::endpoint::receiver::Receiver;
use crate::endpoint::relay::Relays;
use crate::endpoint::requester::Requester;
use crate::endpoint::responder::Responder;
use crate::endpoint::sender::Sender;
use crate::error::Error;
use crate::guest::{self, egress, residence::Residence};
use crate::meter::canary::Canary;
use crate::meter::cpu::Cpu;
use crate::meter::drops::Drops;
use crate::meter::stages::{self, Stages};
use crate::stress::Stress;
use crate::traffic::ingress::IngressDrop;
use crate::traffic::sink::Sink;
use crate::traffic::source::Source;

/// The method of this name.
pub(crate) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// All methods, in the order of their names.
pub(crate) fn all() -> &'static [Method] {
    &METHODS
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $name:literal => $handler:expr;)*) => {
        static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| vec![
            $(Method::new($name, concat!($($doc),+), $handler)),*
        ]);
    };
}

methods! {
    /// End the long calls that are under way and the stress that is at work.
    "abort" => now(|agent, _: &Nothing| { agent.abort(); Ok(Nothing {}) });

    /// End the canary.
    "canary.close" => close::<Canary>();
    /// Prepare fixed work that shows how fast CPUs are.
    "canary.open" => open(Canary::open);
    /// Do the work on each CPU, and return how long its steps took.
    "canary.read" => run(|canary: &mut Canary, _: &Nothing, abort| canary.read(abort));

    /// Close the client: end its program, and forget its samples.
    "client.close" => close::<Client>();
    /// Return how the client's program ended and how many samples it wrote.
    "client.collect" => ask(|client: &mut Client, _: &Nothing| Ok(client.collect()));
    /// Start a program that times another, and answer when it has ended.
    "client.run" => later(|agent, params| {
        // Started here, not in the call's thread, with which the program would end.
        let run = Client::slot(agent).open(|| Client::start(&params, &agent.files()))?;
        Ok(Box::new(move |abort| run.finish(abort)))
    });
    /// Return the samples that the client's program wrote, from one iteration on.
    "client.samples" => ask(|client: &mut Client, params| client.samples(params)).series("ns");

    /// Sample the CPUs during a window that begins soon.
    "cpu.arm" => tell(|cpu: &mut Cpu, params| cpu.arm(params));
    /// Stop sampling.
    "cpu.close" => close::<Cpu>();
    /// Attach a sampler to each CPU.
    "cpu.open" => open(Cpu::open);
    /// Return what was sampled in the window, from one entry on.
    "cpu.read" => ask(|cpu: &mut Cpu, params| cpu.read(params)).series("samples");

    /// Stop counting dropped frames.
    "drops.close" => close::<Drops>();
    /// Count the frames that the kernel drops, by interface and reason.
    "drops.open" => open(Drops::open);
    /// Return the frames dropped since `drops.open`.
    "drops.read" => ask(|drops: &mut Drops, _: &Nothing| drops.read());

    /// Close the echo.
    "echo.close" => close::<Echo>();
    /// Return the round trips of the last run's measured phase.
    "echo.collect" => ask(|echo: &mut Echo, _: &Nothing| echo.collect());
    /// Send ICMP echo requests for the time asked for, and answer when that is over.
    "echo.go" => run(Echo::go);
    /// Prepare ICMP echo requests to one address; none is sent yet.
    "echo.open" => open(Echo::open);

    /// Load modules, configure the NICs, and answer when all have a carrier.
    "guest.configure" => later(|_, params| Ok(Box::new(move |abort| guest::configure(&params, abort))));
    /// Replace the queueing discipline that NICs send through.
    "guest.set_egress_qdisc" => now(|_, params| { egress::set(params)?; Ok(Nothing {}) });
    /// Return the interfaces with their counters, and the state of the clock and of memory.
    "guest.state" => now(|_, _: &Nothing| guest::state());

    /// Drop and count the test frames that arrive at interfaces.
    "ingress.drop" => open(IngressDrop::open);
    /// Stop dropping test frames, and return how many arrived.
    "ingress.release" => close_with(|dropped: Option<IngressDrop>| match dropped {
        Some(dropped) => dropped.release(),
        None => Err(Error::from(anyhow!("nothing is dropped; call ingress.drop first"))),
    });

    /// Answer at once: the agent is there.
    "ping" => now(|_, _: &Nothing| Ok(Nothing {}));

    /// Add a piece to a file that programs are started with.
    "program.file" => now(|agent, params| { agent.files().add(params)?; Ok(Nothing {}) });

    /// Close the receiver.
    "receiver.close" => close::<Receiver>();
    /// Wait until the flows are drained, then return what they brought.
    "receiver.collect" => run(|receiver: &mut Receiver, params, abort| receiver.collect(params, abort));
    /// Listen for bulk flows and count what they bring.
    "receiver.open" => open(Receiver::open);
    /// Return the bytes of one flow in each step of the window, from one step on.
    "receiver.series" => ask(|receiver: &mut Receiver, params| receiver.series(params)).series("bytes");

    /// End the relays.
    "relay.close" => close_with(|relays: Option<Relays>| Ok(relays.map(Relays::close).unwrap_or_default()));
    /// Return how many rounds the master's last run completed, and what became of the relays.
    "relay.collect" => ask(|relays: &mut Relays, _: &Nothing| relays.collect());
    /// Have the master make a run, and answer when it is over.
    "relay.go" => run(Relays::go);
    /// Start the relays that this agent has of a ring; nothing is sent yet.
    "relay.open" => open(Relays::open);
    /// Return the round times of the last run, from one iteration on.
    "relay.samples" => ask(|relays: &mut Relays, params| relays.samples(params)).series("ns");
    /// Answer when a relay has ended or the call is aborted.
    "relay.watch" => run(|relays: &mut Relays, _: &Nothing, abort| { relays.watch(abort)?; Ok(Nothing {}) });

    /// Close the requester.
    "requester.close" => close::<Requester>();
    /// Return the transactions of the last run's measured phase.
    "requester.collect" => ask(|requester: &mut Requester, _: &Nothing| requester.collect());
    /// Send requests for the time asked for, and answer when that is over.
    "requester.go" => run(Requester::go);
    /// Prepare requests to a responder; none is sent yet.
    "requester.open" => open(Requester::open);

    /// Stamp the test frames that enter and leave, until `residence.read`.
    "residence.open" => open(|_: &Nothing| Residence::open());
    /// Return how long test frames stayed since `residence.open`, and stop stamping them.
    "residence.read" => close_with(|residence: Option<Residence>| match residence {
        Some(residence) => residence.read(),
        None => Err(Error::from(anyhow!("no frames are stamped; call residence.open first"))),
    });

    /// Close the responder, and return what it answered.
    "responder.close" => close_with(|it: Option<Responder>| it.map(Responder::close).transpose().map(Option::unwrap_or_default));
    /// Listen for requests and answer them.
    "responder.open" => open(Responder::open);

    /// Close the sender.
    "sender.close" => close::<Sender>();
    /// Return what was handed to the kernel in the last run's measured window.
    "sender.collect" => ask(|sender: &mut Sender, _: &Nothing| sender.collect());
    /// Send in bulk for the time asked for, and answer when that is over.
    "sender.go" => run(Sender::go);
    /// Connect to a receiver, and answer when all flows are connected.
    "sender.open" => open_later(Sender::open);

    /// Close the server: end its program.
    "server.close" => close::<Server>();
    /// Return how the server's program stands.
    "server.collect" => ask(|server: &mut Server, _: &Nothing| Ok(server.collect()));
    /// Start a program, and answer when it reports that it is ready.
    "server.open" => later(|agent, params: ServerOpenParams| {
        // Started here, not in the call's thread, with which the program would end.
        let watcher = Server::slot(agent).open(|| {
            let server = Server::start(&params, &agent.files())?;
            let watcher = server.watcher();
            Ok((server, watcher))
        })?;
        Ok(Box::new(move |abort| { watcher.await_ready(&params, abort)?; Ok(Nothing {}) }))
    });
    /// Answer when the server's program has ended or the call is aborted.
    "server.watch" => later(|agent, _: Nothing| {
        let watcher = Server::slot(agent).lease()?.watcher();
        Ok(Box::new(move |abort| watcher.await_end(abort)))
    });

    /// Answer, and end the agent.
    "shutdown" => last();

    /// Zero all counts, and count the frames of one trial from here on.
    "sink.arm" => tell(Sink::arm);
    /// Return the first frames of a stream as they arrived, from one frame on.
    "sink.capture" => ask(|sink: &mut Sink, params| sink.capture(params)).series("frames");
    /// Detach the sink.
    "sink.close" => close_with(|sink: Option<Sink>| { sink.map_or(Ok(()), Sink::close)?; Ok(Nothing {}) });
    /// Wait until the streams are drained, then return their counts.
    "sink.collect" => run(|sink: &mut Sink, params, abort| sink.collect(params, abort));
    /// Return one stream's histograms of delay variation and of the gaps between frames.
    "sink.histograms" => ask(|sink: &mut Sink, params| sink.histograms(params));
    /// Attach a counting sink to the interfaces of streams.
    "sink.open" => open_with(Sink::open);

    /// Measure the ceilings of one kind of load, all streams together.
    "source.calibrate" => run(Source::calibrate);
    /// Close the source.
    "source.close" => close::<Source>();
    /// Prepare streams of test frames, and return the mechanisms that can send them.
    "source.open" => open_with(|params| {
        let source = Source::open(params)?;
        let fitness = source.fitness();
        Ok((source, fitness))
    });
    /// Send the phases of one trial one after the other, and answer when that is over.
    "source.run" => run(Source::run);

    /// Follow the frames whose first point falls into a window that begins soon.
    "stages.arm" => tell(|stages: &mut Stages, params| stages.arm(params));
    /// Stop watching.
    "stages.close" => close::<Stages>();
    /// Return the delays of one trail, from one stage on.
    "stages.collect" => ask(|stages: &mut Stages, params| stages.collect(params)).series("stages");
    /// Attach to the kernel's hooks that trails pass.
    "stages.open" => open_with(Stages::open);
    /// Return the times of single packets at the points of their trails, from one packet on.
    "stages.packets" => ask(|stages: &mut Stages, params| stages.packets(params)).series("packets");
    /// Return the hooks that this kernel lets the agent watch.
    "stages.probe" => now(|_, _: &Nothing| stages::probe());

    /// Close the stress: end its workers.
    "stress.close" => close::<Stress>();
    /// End the work, and return what each worker has done.
    "stress.collect" => ask(|stress: &mut Stress, _: &Nothing| stress.collect());
    /// Start the workers, and answer when all of them run.
    "stress.go" => tell(|stress: &mut Stress, _: &Nothing| stress.go());
    /// Prepare workers that load CPUs and memory.
    "stress.open" => open(Stress::open);
}
