//! # Lines on standard output, through the C library's buffer
//!
//! The library's own: what matters of it is when it calls write(2).

use std::ffi::CString;
use std::io;
use std::ptr;

use nix::errno::Errno;

use super::params::Buffering;
use super::sample::Failure;

/// What the C library takes for itself on a pipe.
const BUFFER_BYTES: usize = 4096;

/// Standard output as a C program has it.
pub(super) struct Output {
    file: *mut libc::FILE,
    line: CString,
}

impl Output {
    /// Lines have `bytes` bytes, the newline included.
    pub(super) fn open(buffering: Buffering, bytes: usize) -> io::Result<Self> {
        let mut line = vec![b'*'; bytes - 1];
        line.push(b'\n');
        let line = CString::new(line)?;
        let mode = match buffering {
            Buffering::Full => libc::_IOFBF,
            Buffering::Line => libc::_IOLBF,
        };
        // SAFETY: the mode is a C string.
        let file = unsafe { libc::fdopen(libc::STDOUT_FILENO, c"w".as_ptr()) };
        if file.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: nothing was done with the file yet; the library makes the buffer.
        match unsafe { libc::setvbuf(file, ptr::null_mut(), mode, BUFFER_BYTES) } {
            0 => Ok(Self { file, line }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[inline]
    pub(super) fn put_line(&mut self) -> Result<(), Failure> {
        // SAFETY: both are valid as long as this lives.
        match unsafe { libc::fputs(self.line.as_ptr(), self.file) } {
            libc::EOF => Err(Errno::last().into()),
            _ => Ok(()),
        }
    }

    pub(super) fn flush(&mut self) {
        // SAFETY: the file is open. What is lost was counted when it was put.
        unsafe { libc::fflush(self.file) };
    }
}
