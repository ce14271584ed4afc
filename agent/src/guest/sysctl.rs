//! # Kernel settings of a guest
//!
//! Nothing may be on the measured paths but the test frames and what forwards them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use anyhow::Context;

use crate::error::Error;

/// Settings of the whole network namespace. Forwarding comes first, since it resets some of the others.
pub(super) fn set_host(forward: bool, ipv6: bool) -> Result<(), Error> {
    write("net/ipv4/ip_forward", u8::from(forward))?;
    if ipv6 {
        write("net/ipv6/conf/all/forwarding", u8::from(forward))?;
    }
    set_interface("all", false)?;
    set_interface("default", false)
}

/// Settings of one interface: no source check, no redirects, and IPv6 only where it is wanted and then without all that it does by
/// itself: link-local addresses, the search for duplicates, listening to routers.
pub(super) fn set_interface(interface: &str, ipv6: bool) -> Result<(), Error> {
    if ipv6 {
        for (key, value) in [
            ("addr_gen_mode", 1),
            ("accept_dad", 0),
            ("accept_ra", 0),
            ("autoconf", 0),
        ] {
            write(&format!("net/ipv6/conf/{interface}/{key}"), value)?;
        }
    }
    let disable = u8::from(!ipv6);
    write_if_present(&format!("net/ipv6/conf/{interface}/disable_ipv6"), disable)?;
    for key in ["rp_filter", "send_redirects"] {
        write_if_present(&format!("net/ipv4/conf/{interface}/{key}"), 0)?;
    }
    Ok(())
}

/// A kernel without IPv6 lacks its settings, and one that neither checks sources nor redirects those of interfaces.
fn write_if_present(key: &str, value: u8) -> Result<(), Error> {
    match fs::exists(path(key)) {
        Ok(false) => Ok(()),
        _ => write(key, value),
    }
}

fn write(key: &str, value: u8) -> Result<(), Error> {
    let path = path(key);
    // Never create the file: where /proc/sys is not mounted, this must fail.
    let try_write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&path)?;
        file.write_all(value.to_string().as_bytes())
    };
    Ok(try_write().with_context(|| {
        format!("cannot write {value} to {path}; mount /proc/sys writable and grant CAP_NET_ADMIN")
    })?)
}

fn path(key: &str) -> String {
    format!("/proc/sys/{key}")
}
