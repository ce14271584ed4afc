//! # vtax-agent
//!
//! Serves JSON-RPC on its standard input and output, or, as a guest's first process, on a virtio-serial port or
//! a serial line.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use lexopt::{Arg, Parser, ValueExt};
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

use vtax_agent::control::{init, serve};
use vtax_agent::{CpuList, contract, runs_as_init, serve_as_relay, supervise_program};

const HELP: &str = "\
The part of vtax that touches packets. Serves JSON-RPC 2.0, one message a line, on standard input and output.

Usage: vtax-agent [--netns PATH] [--cpus LIST] [--relay | --program]
       vtax-agent schema

  schema        print the methods, their params and answers, and the bounds as JSON Schema
  --netns PATH  work in this network namespace
  --cpus LIST   stay on these CPUs, as in 0,2-3
  --relay       be a relay of the agent that starts this
  --program     start a program, without rights, for the agent that starts this
  --version     print the version
  --help        print this";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    netns: Option<PathBuf>,
    cpus: Option<CpuList>,
    relay: bool,
    program: bool,
    /// Text to print instead of serving.
    print: Option<String>,
}

fn main() -> ExitCode {
    if runs_as_init() {
        init::run();
    }
    let options = match parse(Parser::from_env()) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("vtax-agent: {error}; see vtax-agent --help");
            return ExitCode::from(2);
        }
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vtax-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut parser: Parser) -> Result<Options, lexopt::Error> {
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("netns") => options.netns = Some(parser.value()?.into()),
            Arg::Long("cpus") => options.cpus = Some(parser.value()?.parse()?),
            Arg::Long("relay") => options.relay = true,
            Arg::Long("program") => options.program = true,
            Arg::Value(word) if word == "schema" => {
                options.print = Some(format!("{:#}", contract()));
            }
            Arg::Long("version") => {
                options.print = Some(format!("vtax-agent {}", env!("CARGO_PKG_VERSION")));
            }
            Arg::Long("help") => options.print = Some(HELP.to_owned()),
            other => return Err(other.unexpected()),
        }
    }
    Ok(options)
}

fn run(options: Options) -> anyhow::Result<()> {
    if let Some(text) = options.print {
        println!("{text}");
        return Ok(());
    }
    // Our traffic must not outlive whoever started it, not even by the time a pipe takes to close.
    set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")?;
    if let Some(path) = options.netns {
        let enter = || setns(File::open(&path)?, CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
        enter()
            .with_context(|| format!("cannot enter the network namespace {}", path.display()))?;
    }
    if let Some(cpus) = options.cpus {
        cpus.pin_this_thread()
            .context("cannot stay on the CPUs of --cpus; check that they are online")?;
    }
    if options.relay {
        return serve_as_relay();
    }
    if options.program {
        return supervise_program();
    }
    Ok(serve(io::stdin(), io::stdout())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = parse(Parser::from_args(["--netns", "/run/netns/a", "--cpus=0,1"])).unwrap();
        assert_eq!(options.netns, Some("/run/netns/a".into()));
        assert_eq!(options.cpus, Some("0-1".parse().unwrap()));
        assert_eq!(options.print, None);
    }

    #[test]
    fn other_arguments_are_refused() {
        for arguments in [
            &["--netns"][..],
            &["--cpus", "x"],
            &["--port", "1"],
            &["serve"],
        ] {
            assert!(
                parse(Parser::from_args(arguments)).is_err(),
                "{arguments:?}"
            );
        }
    }
}
