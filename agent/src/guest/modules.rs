//! # Kernel modules of a guest
//!
//! The image builder leaves the modules uncompressed in the initramfs, with a list for each purpose: `/modules/NAME.list`
//! holds one path a line, in the order of their dependencies.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};

use super::kernel;
use crate::error::Error;

const DIRECTORY: &str = "/modules";

/// Loads the list `name` on a method's request.
///
/// Only a guest with a kernel of its own does: elsewhere the kernel is shared with others.
pub(super) fn load_for_guest(name: &str) -> Result<(), Error> {
    if !kernel::serves_own_kernel() {
        let problem =
            "only a guest with a kernel of its own loads modules; leave the list empty here";
        return Err(Error::params("modules", problem));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.bytes().all(plain) {
        let problem = format!("`{name}` is not a module's name");
        return Err(Error::params("modules", problem));
    }
    Ok(load(name)?)
}

/// Loads every module of the list `name` that is not loaded yet.
pub(crate) fn load(name: &str) -> anyhow::Result<()> {
    for path in listed(Path::new(DIRECTORY), name)? {
        let module =
            File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        match finit_module(&module, c"", ModuleInitFlags::empty()) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => {
                let problem = format!(
                    "cannot load {}; check the order of its list and the guest's kernel log",
                    path.display()
                );
                return Err(anyhow!(errno).context(problem));
            }
        }
    }
    Ok(())
}

/// The modules of a list, in the order to load them.
fn listed(directory: &Path, name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let list = directory.join(format!("{name}.list"));
    let text = fs::read_to_string(&list).map_err(|error| {
        let path = list.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                anyhow!("{path} is absent; build the guest's image with the module {name}")
            }
            _ => anyhow!("cannot read {path}: {error}"),
        }
    })?;
    let paths = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(paths.map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_kernel_is_given_no_modules() {
        let error = load_for_guest("e1000").unwrap_err();
        assert!(matches!(error, Error::Params { .. }), "{error}");
    }

    #[test]
    fn lists_keep_their_order() {
        let directory = std::env::temp_dir().join(format!("vtax-modules-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        fs::write(
            directory.join("virtio_net.list"),
            "/lib/failover.ko\n\n/lib/virtio_net.ko\n",
        )
        .unwrap();
        let found = listed(&directory, "virtio_net");
        let absent = listed(&directory, "e1000");
        fs::remove_dir_all(&directory).unwrap();
        let expected = ["/lib/failover.ko", "/lib/virtio_net.ko"].map(PathBuf::from);
        assert_eq!(found.unwrap(), expected);
        assert!(
            absent
                .unwrap_err()
                .to_string()
                .contains("build the guest's image")
        );
    }
}
