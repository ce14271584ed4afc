//! # The agent as a guest's first process
//!
//! It brings up just enough to say hello on its control stream, has a child serve there, and powers the guest off at the end.
//! The stream is the terminal that the kernel's command line names (`vtax.control=ttyS0`), else a virtio-serial port. NIC
//! drivers are loaded later, by `guest.configure`.
//!
//! The child may be killed like any process, and the kernel lives on: so a guest that dies is told from an agent that does.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{ForkResult, Pid, fork};

use super::message;
use super::server::serve;
use super::terminal::{self, TellingReader};
use crate::api::notifications::Died;
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

/// Has a child serve until the peer is gone, then powers the guest off.
pub fn run() -> ! {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("vtax-agent: {panic}");
        power_off();
    }));
    if let Err(error) = prepare().and_then(supervise) {
        eprintln!("vtax-agent: {error:#}");
    }
    power_off()
}

/// The control stream.
struct Control {
    stream: File,
    is_terminal: bool,
}

/// Brings up what the control stream needs, and opens it.
fn prepare() -> anyhow::Result<Control> {
    for (file_system, directory) in FILE_SYSTEMS {
        mount_at(file_system, directory)?;
    }
    // A guest that runs out of memory shall still be able to say so.
    fs::write("/proc/self/oom_score_adj", "-1000").context("cannot outlive a want of memory")?;
    modules::load("control")?;
    let command_line = fs::read_to_string("/proc/cmdline").context("cannot read /proc/cmdline")?;
    let terminal = control_terminal(&command_line);
    Ok(Control {
        is_terminal: terminal.is_some(),
        stream: match terminal {
            Some(name) => terminal::open(&Path::new("/dev").join(name))?,
            None => open_port()?,
        },
    })
}

/// Serves in a child, and says on the stream how that ended where it was not in peace.
fn supervise(mut control: Control) -> anyhow::Result<()> {
    // SAFETY: there is no other thread yet whose locks the child could miss.
    let child = match unsafe { fork() }.context("cannot start the agent")? {
        ForkResult::Child => serve_and_exit(control),
        ForkResult::Parent { child } => child,
    };
    let end = reap_until(child)?;
    if let Some(reason) = death(end) {
        // The child may have died within a line.
        control.stream.write_all(b"\n")?;
        let died = message::notification("died", &Died { reason });
        control.stream.write_all(&died)?;
    }
    Ok(())
}

fn serve_and_exit(control: Control) -> ! {
    drop(std::panic::take_hook());
    let served = serve_on(control);
    if let Err(error) = &served {
        eprintln!("vtax-agent: {error}");
    }
    std::process::exit(i32::from(served.is_err()))
}

fn serve_on(
    Control {
        stream,
        is_terminal,
    }: Control,
) -> io::Result<()> {
    let input = stream.try_clone()?;
    if is_terminal {
        serve(TellingReader::new(input, stream.try_clone()?), stream)
    } else {
        serve(input, stream)
    }
}

/// Collects every process that ends, as process 1 must, until `child` has.
fn reap_until(child: Pid) -> anyhow::Result<WaitStatus> {
    loop {
        match wait() {
            Ok(status) if status.pid() == Some(child) => return Ok(status),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(anyhow!(errno).context("cannot await the agent")),
        }
    }
}

/// Why the agent did not end in peace; None where it did.
fn death(end: WaitStatus) -> Option<String> {
    match end {
        WaitStatus::Exited(_, 0) => None,
        WaitStatus::Exited(_, status) => Some(format!("exited with status {status}")),
        WaitStatus::Signaled(_, signal, _) => Some(format!("was killed by {signal}")),
        other => Some(format!("{other:?}")),
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
    use nix::sys::signal::Signal;

    use super::*;

    #[test]
    fn only_an_end_in_peace_has_no_reason() {
        let child = Pid::from_raw(2);
        assert_eq!(death(WaitStatus::Exited(child, 0)), None);
        for (end, reason) in [
            (WaitStatus::Exited(child, 1), "exited with status 1"),
            (
                WaitStatus::Signaled(child, Signal::SIGKILL, false),
                "was killed by SIGKILL",
            ),
        ] {
            assert_eq!(death(end).as_deref(), Some(reason));
        }
    }

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
