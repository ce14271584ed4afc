//! # Why a call did not do what it was asked

/// A refused or failed call. Nothing stays attached or sent behind it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter that can never work as it stands; `field` is its path in the params.
    #[error("{field}: {problem}")]
    Params { field: String, problem: String },
    /// The machine refused; the message says what, where, and what to do next.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

impl Error {
    pub(crate) fn params(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Params {
            field: field.into(),
            problem: problem.into(),
        }
    }
}
