//! The loop that answers requests until the peer is gone.

use std::io::BufRead;
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use super::message::{Request, RpcError, notification, parse, reply};
use super::methods::{Agent, Method, method};
use super::stream::{Line, Output, read_line};

pub const PROTOCOL: u32 = 1;

/// Why serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The stream ended: nobody is there to stop what runs, so it is stopped here.
    LostPeer,
    Shutdown,
}

/// Says hello and serves. On return all traffic has stopped and everything is detached.
pub fn serve(mut input: impl BufRead, output: Output) -> Ended {
    let output = Arc::new(output);
    let agent = Arc::new(Agent::default());
    output.send(&hello());
    let ended = loop {
        match read_line(&mut input) {
            Ok(Line::Whole(line)) => {
                if answer(&agent, &output, &line) {
                    break Ended::Shutdown;
                }
            }
            Ok(Line::TooLong) => {
                let error = RpcError::request("a message is 65536 bytes at most, newline included");
                output.send(&reply(Value::Null, Err(error)));
            }
            Ok(Line::End) | Err(_) => break Ended::LostPeer,
        }
    };
    agent.stop();
    ended
}

fn hello() -> Value {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let kernel = nix::sys::utsname::uname()
        .map(|uts| uts.release().to_string_lossy().into_owned())
        .unwrap_or_default();
    let uptime = read("/proc/uptime");
    let uptime_s = uptime
        .split(' ')
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    let params = json!({
        "protocol": PROTOCOL,
        "version": env!("CARGO_PKG_VERSION"),
        "kernel": kernel,
        "cpus": thread::available_parallelism().map_or(1, usize::from),
        "uptime_s": uptime_s,
    });
    notification("hello", params)
}

/// Answers one line; true when it asked to shut down.
fn answer(agent: &Arc<Agent>, output: &Arc<Output>, line: &[u8]) -> bool {
    let Request {
        id,
        method: name,
        params,
    } = match parse(line) {
        Ok(request) => request,
        Err((id, error)) => {
            output.send(&reply(id, Err(error)));
            return false;
        }
    };
    match method(&name) {
        None => output.send(&reply(id, Err(RpcError::method(&name)))),
        Some(Method::Quick(act)) => output.send(&reply(id, act(agent, params))),
        Some(Method::Long(act)) => {
            let (agent, output) = (Arc::clone(agent), Arc::clone(output));
            thread::spawn(move || output.send(&reply(id, act(&agent, params))));
        }
        Some(Method::Shutdown) => {
            output.send(&reply(id, Ok(json!({}))));
            return true;
        }
    }
    false
}
