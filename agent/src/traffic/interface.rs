//! A network interface by its name.

use nix::net::if_::if_nametoindex;

use crate::error::Error;

/// An interface of this thread's network namespace.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub name: String,
    pub index: i32,
}

impl Interface {
    /// Looks the interface up; `field` is where the params name it.
    pub fn find(field: &str, name: &str) -> Result<Self, Error> {
        match if_nametoindex(name) {
            Ok(index) => Ok(Self {
                name: name.to_owned(),
                index: index as i32,
            }),
            Err(errno) => {
                let problem = format!(
                    "no interface `{name}` in the agent's network namespace ({})",
                    errno.desc()
                );
                Err(Error::params(field, problem))
            }
        }
    }
}
