//! # What keeps a program from doing harm
//!
//! Processes, mounts and IPC of its own where the agent may make these; all file systems read-only but a /tmp of its own;
//! nobody's user and group, no capabilities and no way to new ones; no terminal; bounds on what it may use up. A container's
//! agent may make no namespaces, and needs none: its own end with it, and it has nothing to write to but its /tmp.

use std::fs;
use std::io;
use std::mem;

use anyhow::Context;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::{set_child_subreaper, set_no_new_privs, set_pdeathsig};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid, setsid};

const NOBODY: u32 = 65534;
const TMP: &str = "size=64m,mode=1777";
const LAST_CAPABILITY: libc::c_ulong = 63;
const LIMITS: [(Resource, u64); 3] = [
    (Resource::RLIMIT_CORE, 0),
    (Resource::RLIMIT_FSIZE, 64 << 20),
    (Resource::RLIMIT_NPROC, 512),
];

/// Has what is forked next be the first process of a namespace, which ends with it; false where that is not granted.
pub(super) fn part_from_host() -> anyhow::Result<bool> {
    let spaces = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    match unshare(spaces) {
        Ok(()) => Ok(true),
        Err(Errno::EPERM) => Ok(false),
        Err(errno) => Err(errno).context("cannot make namespaces for a program"),
    }
}

/// In the new namespaces: leaves nothing to write to but a new /tmp.
pub(super) fn see_read_only() -> anyhow::Result<()> {
    let nothing = None::<&str>;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, "/", nothing, private, nothing).context("cannot part mounts from the host's")?;
    set_read_only("/").context("cannot make all file systems read-only; that takes Linux 5.12")?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), "/tmp", Some("tmpfs"), flags, Some(TMP)).context("cannot mount a /tmp")?;
    let flags = flags | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, nothing).context("cannot mount /proc")
}

/// For good: what this process starts has no more rights than it has then.
pub(super) fn drop_rights() -> anyhow::Result<()> {
    setsid().context("cannot leave the terminal")?;
    for (resource, most) in LIMITS {
        setrlimit(resource, most, most).context("cannot bound what a program uses")?;
    }
    // Where the machine runs out of memory, a program is the first to go; a kernel without that has its own order.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    for capability in 0..=LAST_CAPABILITY {
        // Those that the kernel does not know, or that the agent may not drop, are out of reach by what follows.
        // SAFETY: it takes no pointers.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    setgroups(&[])
        .and_then(|()| setresgid(group, group, group))
        .and_then(|()| setresuid(user, user, user))
        .and_then(|()| set_no_new_privs())
        .context("cannot become nobody")?;
    // Both are of the process as it is now: another user's are not kept.
    set_pdeathsig(Signal::SIGKILL)
        .and_then(|()| set_child_subreaper(true))
        .context("cannot tie a program to its supervisor")
}

fn set_read_only(root: &str) -> io::Result<()> {
    let root = std::ffi::CString::new(root)?;
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: path and attributes outlive the call, which is told the size of the latter.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            root.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            mem::size_of_val(&attributes),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
