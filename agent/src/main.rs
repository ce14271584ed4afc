//! `vtax-agent`: sends, receives and drops test frames for a controller at the other end of its standard streams.

use std::fs::File;
use std::io::{BufReader, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use vtax_agent::control::server::serve;
use vtax_agent::control::stream::Output;
use vtax_agent::init;
use vtax_agent::traffic::pin_this_thread;

const USAGE: &str = "\
usage: vtax-agent [--netns PATH] [--cpus LIST]

Answers JSON-RPC 2.0 on standard input and output, a message a line, until its input ends.

  --netns PATH   enter this network namespace first
  --cpus LIST    run on these CPUs only, as in 0,2
  --version      print the version
";

#[derive(Debug, Default, PartialEq)]
struct Options {
    netns: Option<PathBuf>,
    cpus: Vec<usize>,
    print: Option<String>,
}

fn main() -> ExitCode {
    if init::is_init() {
        init::run();
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vtax-agent: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<()> {
    let options = read_options(lexopt::Parser::from_env())?;
    if let Some(text) = options.print {
        print!("{text}");
        return Ok(());
    }
    // Whoever started this agent may die without closing its stream to it.
    set_pdeathsig(Signal::SIGKILL).context("asking to end with the parent")?;
    if let Some(path) = &options.netns {
        let namespace = File::open(path).with_context(|| format!("{}", path.display()))?;
        setns(namespace, CloneFlags::CLONE_NEWNET)
            .with_context(|| format!("entering network namespace {}", path.display()))?;
    }
    if !options.cpus.is_empty() {
        pin_this_thread(&options.cpus).with_context(|| format!("--cpus {:?}", options.cpus))?;
    }
    serve(BufReader::new(stdin()), Output::new(stdout()));
    Ok(())
}

fn read_options(mut parser: lexopt::Parser) -> anyhow::Result<Options> {
    use lexopt::prelude::{Long, ValueExt};
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("netns") => options.netns = Some(parser.value()?.into()),
            Long("cpus") => options.cpus = read_cpus(&parser.value()?.string()?)?,
            Long("help") => options.print = Some(USAGE.to_owned()),
            Long("version") => {
                options.print = Some(format!("vtax-agent {}\n", env!("CARGO_PKG_VERSION")))
            }
            other => bail!("{}\n{USAGE}", other.unexpected()),
        }
    }
    Ok(options)
}

fn read_cpus(list: &str) -> anyhow::Result<Vec<usize>> {
    list.split(',')
        .map(|cpu| {
            cpu.parse()
                .with_context(|| format!("--cpus {list}: {cpu:?} is no CPU number"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let parser = lexopt::Parser::from_args(["--netns", "/run/netns/x", "--cpus", "0,2"]);
        let options = read_options(parser).unwrap();
        assert_eq!(options.netns, Some(PathBuf::from("/run/netns/x")));
        assert_eq!(options.cpus, [0, 2]);
    }

    #[test]
    fn wrong_options_are_refused() {
        for wrong in [
            &["--cpus", "0,x"][..],
            &["--port", "1"],
            &["extra"],
            &["--netns"],
        ] {
            assert!(
                read_options(lexopt::Parser::from_args(wrong)).is_err(),
                "{wrong:?}"
            );
        }
    }
}
