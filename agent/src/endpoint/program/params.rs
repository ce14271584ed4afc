//! # What is started

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::files::File;
use crate::Error;

const MOST_WORDS: usize = 256;
const LONGEST_WAIT_MS: u64 = 3_600_000;

/// A command, as the methods take it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    /// The program, by its path or its name in the search path, and its arguments.
    pub(super) argv: Vec<String>,
    /// Variables beside those that every program has.
    pub(super) environment: BTreeMap<String, String>,
}

/// The same as its supervisor gets it, with what its directory holds.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Launch {
    pub(super) argv: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) files: Vec<File>,
}

impl Command {
    pub(super) fn check(&self) -> Result<(), Error> {
        if !(1..=MOST_WORDS).contains(&self.argv.len()) || self.argv[0].is_empty() {
            let problem = format!("a command has 1 to {MOST_WORDS} words, the first a program");
            return Err(Error::params("command.argv", problem));
        }
        if self.argv.iter().any(|word| word.contains('\0')) {
            return Err(Error::params("command.argv", "no word may hold a zero"));
        }
        let unfit = |name: &str| name.is_empty() || name.contains(['=', '\0']);
        let mut variables = self.environment.iter();
        if variables.any(|(name, value)| unfit(name) || value.contains('\0')) {
            return Err(Error::params(
                "command.environment",
                "not the names and values of variables",
            ));
        }
        Ok(())
    }
}

pub(super) fn check_timeout(timeout_ms: u64) -> Result<(), Error> {
    match timeout_ms {
        1..=LONGEST_WAIT_MS => Ok(()),
        _ => Err(Error::params(
            "timeout_ms",
            format!("{timeout_ms} is not 1 to {LONGEST_WAIT_MS}"),
        )),
    }
}
