//! # What is started

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::File;
use crate::api::bounds::MOST_COMMAND_WORDS;
use crate::error::Error;

/// A command, as the methods take it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    /// The program, by its path or its name in the search path, and its arguments.
    #[schemars(length(min = 1, max = MOST_COMMAND_WORDS))]
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
        let words = self.argv.len() as u64;
        if !(1..=MOST_COMMAND_WORDS).contains(&words) || self.argv[0].is_empty() {
            let problem =
                format!("a command has 1 to {MOST_COMMAND_WORDS} words, the first a program");
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
