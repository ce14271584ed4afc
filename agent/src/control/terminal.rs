//! # A terminal as a byte stream
//!
//! A guest's serial line holds some 4 KB for its reader, and nothing on it keeps a sender from sending more. So the agent
//! tells what it has read, in notifications `read`, and the peer keeps less than that under way.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use super::message;
use crate::api::notifications;

/// What is read without telling; a short request needs no answer but its own.
const UNTOLD_BYTES: usize = 1024;

/// Opens a terminal with no echo, no line editing, and no translation.
pub(super) fn open(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOCTTY);
    let terminal = options
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let make_raw = || {
        let mut settings = tcgetattr(&terminal)?;
        cfmakeraw(&mut settings);
        tcsetattr(&terminal, SetArg::TCSANOW, &settings)
    };
    make_raw().with_context(|| format!("cannot make {} a plain byte stream", path.display()))?;
    Ok(terminal)
}

/// A reader that tells its peer how much it has read.
///
/// `output` is where the replies go as well; a terminal keeps single writes apart.
pub(super) struct TellingReader<R, W> {
    input: R,
    output: W,
    untold_bytes: usize,
}

impl<R: Read, W: Write> TellingReader<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input,
            output,
            untold_bytes: 0,
        }
    }
}

impl<R: Read, W: Write> Read for TellingReader<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.untold_bytes += count;
        if self.untold_bytes >= UNTOLD_BYTES {
            let bytes = std::mem::take(&mut self.untold_bytes);
            let line = message::notification("read", &notifications::Read { bytes });
            self.output.write_all(&line)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use nix::pty::openpty;
    use nix::unistd::ttyname;

    use super::*;

    #[test]
    fn a_terminal_changes_no_byte() {
        let pair = openpty(None, None).unwrap();
        let path = ttyname(&pair.slave).unwrap();
        let mut terminal = open(&path).unwrap();
        let mut far_end = File::from(pair.master);
        let bytes: Vec<u8> = (0..=u8::MAX).collect();

        far_end.write_all(&bytes).unwrap();
        let mut heard = vec![0; bytes.len()];
        terminal.read_exact(&mut heard).unwrap();
        assert_eq!(heard, bytes);

        terminal.write_all(&bytes).unwrap();
        far_end.read_exact(&mut heard).unwrap();
        assert_eq!(heard, bytes, "what is heard first is no echo");
    }

    #[test]
    fn what_is_no_terminal_is_named() {
        let error = open(Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().contains("/dev/null"), "{error:#}");
    }

    #[test]
    fn all_that_is_read_is_told_in_time() {
        let sent = vec![b'x'; 10 * UNTOLD_BYTES];
        let mut told = Vec::new();
        let mut heard = Vec::new();
        let mut reader = TellingReader::new(&sent[..], &mut told);
        reader.read_to_end(&mut heard).unwrap();
        let untold = reader.untold_bytes;
        assert_eq!(heard, sent);
        let bytes: u64 = String::from_utf8(told)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| line["params"]["bytes"].as_u64().unwrap())
            .sum();
        assert_eq!(usize::try_from(bytes).unwrap() + untold, sent.len());
        assert!(untold < UNTOLD_BYTES);
    }
}
