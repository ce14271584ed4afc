//! # The methods of programs of the user's own

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use super::message::{RpcError, read_params};
use super::methods::{Agent, Answer, Nothing, now};
use super::slot::Slot;
use crate::endpoint::program::{Client, Files, ServeParams, Server};

/// What they work on.
pub(super) struct Programs {
    files: Mutex<Files>,
    server: Slot<Server>,
    client: Slot<Client>,
}

impl Programs {
    pub(super) fn new() -> Self {
        Self {
            files: Mutex::default(),
            server: Slot::new("server"),
            client: Slot::new("client"),
        }
    }
}

impl Agent {
    pub(super) fn call_programs(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Answer<'_>, RpcError> {
        let Programs {
            files,
            server,
            client,
        } = &self.programs;
        let files = || files.lock().unwrap_or_else(PoisonError::into_inner);
        match method {
            "program.file" => {
                files().add(&read_params(params)?)?;
                now(Nothing {})
            }
            "server.open" => {
                let params: ServeParams = read_params(params)?;
                // Not in the call's thread, with which the program would end.
                let watcher = server.open(|| {
                    let server = Server::start(&params, &files())?;
                    let watcher = server.watcher();
                    Ok((server, watcher))
                })?;
                self.later(method, move |abort| {
                    watcher.await_ready(&params, abort)?;
                    Ok(Nothing {})
                })
            }
            "server.watch" => {
                let Nothing {} = read_params(params)?;
                let watcher = server.lease()?.watcher();
                self.later(method, move |abort| watcher.await_end(abort))
            }
            "server.collect" => {
                let Nothing {} = read_params(params)?;
                now(server.lease()?.collect())
            }
            "server.close" => {
                let Nothing {} = read_params(params)?;
                drop(server.take()?);
                now(Nothing {})
            }
            "client.run" => {
                let params = read_params(params)?;
                let run = client.open(|| Client::start(&params, &files()))?;
                self.later(method, move |abort| run.finish(abort))
            }
            "client.collect" => {
                let Nothing {} = read_params(params)?;
                now(client.lease()?.collect())
            }
            "client.samples" => {
                let params = read_params(params)?;
                now(client.lease()?.samples(&params)?)
            }
            "client.close" => {
                let Nothing {} = read_params(params)?;
                drop(client.take()?);
                now(Nothing {})
            }
            _ => self.call_stress(method, params),
        }
    }
}
