//! # The agent as a guest's first process
//!
//! It brings up just enough to say hello on its control stream, serves there, and powers the guest off at the end. The stream
//! is the terminal that the kernel's command line names (`vtax.control=ttyS0`), else a virtio-serial port. NIC drivers are
//! loaded later, by `guest.configure`.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::signal::{SigHandler, Signal, signal};

use super::server::serve;
use super::terminal::{self, TellingReader};
use crate::guest::modules;

/// The virtio-serial port's name, as the hypervisor was given it.
const PORT_NAME: &str = "vtax";
const PORTS: &str = "/sys/class/virtio-ports";

/// The kernel's parameter that names the control terminal.
const PARAMETER: &str = "vtax.control=";

/// How long the port may take to appear after its driver was loaded.
const PORT_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

const FILE_SYSTEMS: [(&str, &str); 3] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")];

/// Serves as process 1 until the peer is gone, then powers the guest off.
pub fn run() -> ! {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("vtax-agent: {panic}");
        power_off();
    }));
    if let Err(error) = serve_on_stream() {
        eprintln!("vtax-agent: {error:#}");
    }
    power_off()
}

fn serve_on_stream() -> anyhow::Result<()> {
    // SAFETY: ignoring a signal installs no handler. The kernel then reaps all children by itself.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) }.context("cannot ignore SIGCHLD")?;
    for (file_system, directory) in FILE_SYSTEMS {
        mount_at(file_system, directory)?;
    }
    modules::load("control")?;
    let command_line = fs::read_to_string("/proc/cmdline").context("cannot read /proc/cmdline")?;
    let share = |stream: &File| {
        stream
            .try_clone()
            .context("cannot share the control stream")
    };
    match control_terminal(&command_line) {
        Some(name) => {
            let terminal = terminal::open(&Path::new("/dev").join(name))?;
            let input = TellingReader::new(share(&terminal)?, share(&terminal)?);
            Ok(serve(input, terminal)?)
        }
        None => {
            let port = open_port()?;
            Ok(serve(share(&port)?, port)?)
        }
    }
}

/// The terminal that the kernel's command line names.
fn control_terminal(command_line: &str) -> Option<&str> {
    let mut parameters = command_line.split_whitespace();
    parameters.find_map(|parameter| parameter.strip_prefix(PARAMETER))
}

fn mount_at(file_system: &str, directory: &str) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot make {directory}"))?;
    let options: Option<&str> = None;
    match mount(
        Some(file_system),
        directory,
        Some(file_system),
        MsFlags::empty(),
        options,
    ) {
        Ok(()) | Err(Errno::EBUSY) => Ok(()),
        Err(errno) => {
            Err(anyhow!(errno).context(format!("cannot mount {file_system} on {directory}")))
        }
    }
}

fn open_port() -> anyhow::Result<File> {
    let deadline = Instant::now() + PORT_LIMIT;
    loop {
        if let Some(path) = find_port(Path::new(PORTS)) {
            let port = OpenOptions::new().read(true).write(true).open(&path);
            return port.with_context(|| format!("cannot open {}", path.display()));
        }
        if Instant::now() >= deadline {
            return Err(anyhow!(
                "no virtio-serial port named {PORT_NAME} in {PORTS} after {} s; give the guest one, and its drivers in \
                 /modules/control.list",
                PORT_LIMIT.as_secs()
            ));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// The device of the port with our name.
fn find_port(ports: &Path) -> Option<PathBuf> {
    ports.read_dir().ok()?.flatten().find_map(|port| {
        let name = fs::read_to_string(port.path().join("name")).ok()?;
        (name.trim_end() == PORT_NAME).then(|| Path::new("/dev").join(port.file_name()))
    })
}

fn power_off() -> ! {
    let Err(errno) = reboot(RebootMode::RB_POWER_OFF);
    eprintln!("vtax-agent: cannot power off: {errno}");
    // Process 1 must not return.
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_may_name_a_terminal() {
        let named = "mem=64M vtax.control=ttyS0 panic=-1 root=98:0\n";
        assert_eq!(control_terminal(named), Some("ttyS0"));
        assert_eq!(control_terminal("console=ttyS0 loglevel=4\n"), None);
    }

    #[test]
    fn the_port_is_found_by_its_name() {
        let ports = std::env::temp_dir().join(format!("vtax-ports-{}", std::process::id()));
        for (port, name) in [("vport0p1", "console\n"), ("vport0p2", "vtax\n")] {
            fs::create_dir_all(ports.join(port)).unwrap();
            fs::write(ports.join(port).join("name"), name).unwrap();
        }
        fs::create_dir(ports.join("vport0p3")).unwrap();
        let found = find_port(&ports);
        fs::remove_dir_all(&ports).unwrap();
        assert_eq!(found, Some(PathBuf::from("/dev/vport0p2")));
        assert_eq!(find_port(&ports), None);
    }
}
