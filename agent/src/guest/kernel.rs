//! # Whose kernel this process has

use std::path::PathBuf;

/// Whether this process is the init of a guest with a kernel of its own.
///
/// A container's first process may have the number 1 as well, but is not named `init`, as an initramfs wants it.
pub fn runs_as_init() -> bool {
    std::process::id() == 1 && is_named_init()
}

/// Whether this process serves a guest with a kernel of its own: its init's child does.
pub(super) fn serves_own_kernel() -> bool {
    std::os::unix::process::parent_id() == 1 && is_named_init()
}

fn is_named_init() -> bool {
    let program = std::env::args_os().next().map(PathBuf::from);
    program.is_some_and(|path| path.file_name() == Some("init".as_ref()))
}
