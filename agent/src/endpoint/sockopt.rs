//! # Socket options that nix has no name for

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;

use nix::errno::Errno;

/// Of asm-generic/socket.h: what a socket holds, as numbers that begin with `libc::SK_MEMINFO_*`.
const SO_MEMINFO: libc::c_int = 55;
const MEMORY_NUMBERS: usize = 9;

/// Sets an option; `T` is the type that the kernel takes for it.
pub(super) fn set<T: Copy>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: T,
) -> nix::Result<()> {
    // SAFETY: the kernel reads at most the bytes of `value`, which outlives the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    Errno::result(done).map(drop)
}

/// What the kernel tells of a connection; members that an older kernel does not know are 0.
pub(super) fn tcp_info(socket: &impl AsRawFd) -> io::Result<libc::tcp_info> {
    // SAFETY: a tcp_info consists of numbers only, of which any bits are valid.
    unsafe { get(socket, libc::IPPROTO_TCP, libc::TCP_INFO) }
}

/// Datagrams that came while the socket's buffer was full, since it was made.
pub(super) fn buffer_drops(socket: &impl AsRawFd) -> io::Result<u32> {
    // SAFETY: these are numbers only, of which any bits are valid.
    let memory: [u32; MEMORY_NUMBERS] = unsafe { get(socket, libc::SOL_SOCKET, SO_MEMINFO) }?;
    Ok(memory[libc::SK_MEMINFO_DROPS as usize])
}

/// Reads an option.
///
/// # Safety
///
/// Any bits must be a valid `T`.
pub(super) unsafe fn get<T>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<T> {
    // SAFETY: the caller vouches for zeros.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`; both outlive the call.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    match done {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}
