//! # The greeting
//!
//! The first line an agent sends; a guest is up once its host has read it.

use std::time::Duration;

use nix::sys::utsname::uname;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use super::message;
use crate::api::notifications::{Hello, PROTOCOL};

/// The hello notification as a line.
pub(super) fn line() -> nix::Result<Vec<u8>> {
    let boottime = clock_gettime(ClockId::CLOCK_BOOTTIME)?;
    let hello = Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION"),
        kernel: uname()?.release().to_string_lossy().into_owned(),
        cpus: sysconf(SysconfVar::_NPROCESSORS_ONLN)?.unwrap_or(1),
        uptime_s: Duration::from(boottime).as_secs_f64(),
    };
    Ok(message::notification("hello", &hello))
}
