//! # What the kernel says of a network interface by its name, and bringing it up
//!
//! These ioctls answer for the calling thread's network namespace. /sys/class/net would answer for the namespace that
//! /sys was mounted in.

use std::ffi::CStr;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `struct ethtool_drvinfo` of linux/ethtool.h, which the libc crate lacks.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    _rest: [u8; 160],
}

const ETHTOOL_GDRVINFO: u32 = 3;

/// Largest IP packet of the interface in bytes.
pub(crate) fn mtu(interface: &str) -> io::Result<u32> {
    let request = query(interface, libc::SIOCGIFMTU, |_| ())?;
    // SAFETY: SIOCGIFMTU fills this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
}

/// Whether the interface is administratively up.
pub(crate) fn is_up(interface: &str) -> io::Result<bool> {
    let request = query(interface, libc::SIOCGIFFLAGS, |_| ())?;
    // SAFETY: SIOCGIFFLAGS fills this member of the union.
    let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
    Ok(flags & libc::IFF_UP != 0)
}

/// Brings the interface up.
pub(crate) fn bring_up(interface: &str) -> io::Result<()> {
    let up = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    query(interface, libc::SIOCSIFFLAGS, |request| {
        request.ifr_ifru.ifru_flags = up;
    })?;
    Ok(())
}

/// What kind of hardware the interface is, or is like: an `ARPHRD_` number of linux/if_arp.h.
pub(crate) fn hardware_type(interface: &str) -> io::Result<u16> {
    let request = query(interface, libc::SIOCGIFHWADDR, |_| ())?;
    // SAFETY: SIOCGIFHWADDR fills this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr }.sa_family)
}

/// Name of the interface's driver, as `ethtool -i` gives it.
pub(crate) fn driver(interface: &str) -> io::Result<String> {
    let mut info = DriverInfo {
        command: ETHTOOL_GDRVINFO,
        driver: [0; 32],
        _rest: [0; 160],
    };
    query(interface, libc::SIOCETHTOOL, |request| {
        request.ifr_ifru.ifru_data = (&raw mut info).cast();
    })?;
    let name = CStr::from_bytes_until_nul(&info.driver).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// Has the driver answer an ethtool request, which begins with its command and has room for the answer.
pub(crate) fn ethtool(interface: &str, request: &mut [u32]) -> io::Result<()> {
    query(interface, libc::SIOCETHTOOL, |query| {
        query.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
    })
    .map(drop)
}

fn query(
    interface: &str,
    operation: libc::c_ulong,
    prepare: impl FnOnce(&mut libc::ifreq),
) -> io::Result<libc::ifreq> {
    // SAFETY: an ifreq of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    prepare(&mut request);
    let any: OwnedFd = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: `request` and what it may point to outlive the call.
    match unsafe { libc::ioctl(any.as_raw_fd(), operation as _, &raw mut request) } {
        0 => Ok(request),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known() {
        assert_eq!(mtu("lo").unwrap(), 65_536);
        assert_eq!(hardware_type("lo").unwrap(), libc::ARPHRD_LOOPBACK);
    }

    #[test]
    fn an_absent_interface_is_an_error() {
        for name in ["absent0", "a-name-of-more-than-15-bytes", ""] {
            assert!(mtu(name).is_err());
            assert!(is_up(name).is_err());
            assert!(hardware_type(name).is_err());
            assert!(driver(name).is_err());
        }
    }
}
