//! The interfaces that are watched, each in its network namespace.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::thread;

use nix::net::if_::{if_indextoname, if_nametoindex};
use nix::sched::{CloneFlags, setns};

use super::hook::Hook;
use super::wire::StagesPoint;
use crate::error::Error;
use crate::netdevice;

const OWN: &str = "/proc/thread-self/ns/net";
/// Driver of taps, as ethtool names it.
const TAP: &str = "tun";
/// What carries Ethernet: from there frames are known.
const ETHERNET: [u16; 2] = [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK];

/// An interface where it was found.
#[derive(Clone, Debug)]
pub(super) struct Site {
    netns: Option<PathBuf>,
    pub(super) interface: String,
    pub(super) inode: u32,
    pub(super) index: u32,
}

impl Site {
    /// Looks the interface of a point up; `field` is where the params have it.
    pub(super) fn find(field: &str, point: &StagesPoint) -> Result<Self, Error> {
        let name = point.interface.clone();
        let found = within(point.netns.clone(), move || {
            let index = if_nametoindex(name.as_str()).ok()?;
            let hardware = netdevice::hardware_type(&name).ok()?;
            let driver = netdevice::driver(&name).unwrap_or_default();
            Some((index, hardware, driver))
        });
        let netns = || match &point.netns {
            Some(path) => path.display().to_string(),
            None => "the agent's own".to_owned(),
        };
        let (inode, found) = found.map_err(|error| {
            let problem = format!("cannot enter the network namespace {} ({error})", netns());
            Error::params(format!("{field}.netns"), problem)
        })?;
        let interface = point.interface.clone();
        let refused = |problem| Err(Error::params(format!("{field}.interface"), problem));
        let Some((index, hardware, driver)) = found else {
            let netns = netns();
            return refused(format!(
                "no interface `{interface}` in the network namespace {netns}"
            ));
        };
        if !ETHERNET.contains(&hardware) {
            return refused(format!(
                "`{interface}` carries no Ethernet; frames are known by what follows its header"
            ));
        }
        if point.hook == Hook::Write && driver != TAP {
            return refused(format!(
                "`{interface}` is no tap; only a tap's frames are written, and hook `write` is where"
            ));
        }
        Ok(Self {
            netns: point.netns.clone(),
            interface,
            inode,
            index,
        })
    }

    /// Namespace and index in one, as the programs have them.
    pub(super) fn key(&self) -> u64 {
        u64::from(self.inode) << 32 | u64::from(self.index)
    }

    /// Whether the interface, whatever it is called by now, or its namespace is not there any more.
    pub(super) fn is_gone(&self) -> bool {
        let index = self.index;
        // For an index that is nobody's, nix gives an empty name.
        let is_named = move || if_indextoname(index).is_ok_and(|name| !name.is_empty());
        match within(self.netns.clone(), is_named) {
            Ok((inode, found)) => inode != self.inode || !found,
            Err(_) => true,
        }
    }
}

/// Runs `act` in a network namespace, and tells the namespace's inode number.
fn within<T: Send>(netns: Option<PathBuf>, act: impl FnOnce() -> T + Send) -> io::Result<(u32, T)> {
    let enter = move || {
        if let Some(path) = netns {
            // Whatever else it may be, opening it waits for nobody.
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(path)?;
            setns(file, CloneFlags::CLONE_NEWNET)?;
        }
        Ok((fs::metadata(OWN)?.ino() as u32, act()))
    };
    // A thread of its own: this one stays where it is.
    thread::scope(|scope| scope.spawn(enter).join().expect("it does not panic"))
}
