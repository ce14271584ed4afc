//! Duties of a guest's first process: mounts, kernel modules, the control port, the end.
//!
//! The image holds `/modules/control.list` (what the control port needs) and `/modules/NAME.list` (what NIC driver NAME needs),
//! a module's path a line in the order they go in.

use std::fs::{self, File, OpenOptions};
use std::io::BufReader;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::reboot::{RebootMode, reboot};

use crate::control::server::serve;
use crate::control::stream::Output;

const PORT_NAME: &str = "vtax";
const PORT_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(2);

/// Whether this process is the first of its machine, and not merely of a container.
pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new("/modules/control.list").exists()
}

/// Serves as a guest's init and powers the guest off at the end, whatever it was.
pub fn run() -> ! {
    if let Err(error) = serve_on_port() {
        // The console is all that a guest without a control stream has.
        eprintln!("vtax-agent: {error:#}");
    }
    nix::unistd::sync();
    match reboot(RebootMode::RB_POWER_OFF) {
        Ok(never) => match never {},
        Err(error) => panic!("powering off: {error}"),
    }
}

/// Inserts the modules that NIC drivers need. Outside of a guest of ours there is nothing to insert.
pub fn load_modules(drivers: &[String]) -> anyhow::Result<()> {
    if drivers.is_empty() {
        return Ok(());
    }
    if !is_init() {
        bail!("modules are loaded in guests only; this kernel is another's");
    }
    for driver in drivers {
        load_list(driver)?;
    }
    Ok(())
}

fn serve_on_port() -> anyhow::Result<()> {
    mount_system()?;
    load_list("control")?;
    let port = open_port()?;
    let output = port.try_clone().context("cloning the control port")?;
    serve(BufReader::new(port), Output::new(output));
    Ok(())
}

fn mount_system() -> anyhow::Result<()> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount(
            Some(kind),
            target,
            Some(kind),
            MsFlags::empty(),
            None::<&str>,
        )
        .with_context(|| format!("mounting {target}"))?;
    }
    Ok(())
}

fn load_list(name: &str) -> anyhow::Result<()> {
    let list = format!("/modules/{name}.list");
    let paths = fs::read_to_string(&list)
        .with_context(|| format!("{list}: this image was made without {name}"))?;
    for path in paths.lines() {
        let file = File::open(path).with_context(|| path.to_owned())?;
        match finit_module(file, c"", ModuleInitFlags::empty()) {
            Ok(()) | Err(nix::Error::EEXIST) => {}
            Err(error) => bail!("inserting {path}: {}", error.desc()),
        }
    }
    Ok(())
}

/// The virtio port named `vtax`, once the host holds its other end.
fn open_port() -> anyhow::Result<File> {
    let deadline = Instant::now() + PORT_LIMIT;
    let mut port = None;
    while Instant::now() < deadline {
        port = port.or_else(|| {
            let path = find_port(Path::new("/sys/class/virtio-ports"))?;
            OpenOptions::new().read(true).write(true).open(path).ok()
        });
        if let Some(open) = &port
            && host_is_there(open)?
        {
            return port.context("unreachable: the port is open");
        }
        std::thread::sleep(POLL);
    }
    bail!("no virtio port named {PORT_NAME} with a host at its other end appeared")
}

fn find_port(class: &Path) -> Option<PathBuf> {
    for entry in fs::read_dir(class).ok()?.flatten() {
        let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        if name.trim() == PORT_NAME {
            return Some(Path::new("/dev").join(entry.file_name()));
        }
    }
    None
}

/// A read of a port that the host has not opened yet gives the end of the stream at once; poll tells (POLLHUP).
fn host_is_there(port: &File) -> anyhow::Result<bool> {
    let mut polled = [PollFd::new(port.as_fd(), PollFlags::POLLIN)];
    poll(&mut polled, PollTimeout::ZERO).context("polling the control port")?;
    let hung_up = polled[0]
        .revents()
        .is_some_and(|events| events.contains(PollFlags::POLLHUP));
    Ok(!hung_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_found_by_its_name() {
        let class = std::env::temp_dir().join(format!("vtax-ports-{}", std::process::id()));
        for (port, name) in [("vport0p1", "other\n"), ("vport0p2", "vtax\n")] {
            fs::create_dir_all(class.join(port)).unwrap();
            fs::write(class.join(port).join("name"), name).unwrap();
        }
        assert_eq!(find_port(&class), Some(PathBuf::from("/dev/vport0p2")));
        fs::remove_dir_all(&class).unwrap();
        assert_eq!(find_port(&class), None);
    }

    #[test]
    fn modules_are_not_loaded_into_somebody_elses_kernel() {
        assert!(load_modules(&[]).is_ok());
        assert!(
            load_modules(&["e1000".to_owned()])
                .unwrap_err()
                .to_string()
                .contains("guests only")
        );
    }
}
