//! What all BPF users here share: libbpf's messages in our errors, maps with one entry, interfaces by name.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ptr;
use std::slice;
use std::sync::Once;

use anyhow::{Context, anyhow};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut, PrintLevel, set_print};
use nix::net::if_::if_nametoindex;

use super::Error;

/// The verifier's verdict stands at the end of its log; the rest is the way there.
const LOG_LINES_KEPT: usize = 12;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs a libbpf operation; what libbpf had to say (the verifier's last lines above all) goes into the error.
pub(super) fn with_libbpf_log<T>(
    what: &str,
    operation: impl FnOnce() -> libbpf_rs::Result<T>,
) -> anyhow::Result<T> {
    static REDIRECT: Once = Once::new();
    REDIRECT.call_once(|| {
        // libbpf calls back in the thread that called it.
        set_print(Some((PrintLevel::Warn, |_, message| {
            LOG.with_borrow_mut(|log| log.extend(message.lines().map(str::to_owned)));
        })));
    });
    LOG.with_borrow_mut(Vec::clear);
    operation().map_err(|error| {
        let log = LOG.take();
        let tail = log[log.len().saturating_sub(LOG_LINES_KEPT)..].join("\n");
        let error = anyhow!("{what}: {error:#}");
        if tail.is_empty() {
            error
        } else {
            anyhow!("{error}\n{tail}")
        }
    })
}

/// The result of a libbpf call that returns a negative errno.
pub(super) fn check(result: i32) -> libbpf_rs::Result<i32> {
    if result < 0 {
        Err(libbpf_rs::Error::from_raw_os_error(-result))
    } else {
        Ok(result)
    }
}

/// The index of a network interface in this thread's network namespace.
pub(super) fn interface_index(field: &str, name: &str) -> Result<i32, Error> {
    if_nametoindex(name)
        .map(|index| index as i32)
        .map_err(|errno| {
            Error::params(
                field,
                format!(
                    "no interface `{name}` in the agent's network namespace ({})",
                    errno.desc()
                ),
            )
        })
}

/// A map value as clang laid it out.
///
/// # Safety
/// The type is `repr(C)`, has no references, and every bit pattern is one of its values.
pub(super) unsafe trait MapValue: Copy {}

/// An array map with one entry.
#[derive(Debug)]
pub(super) struct Single<T> {
    map: MapHandle,
    flags: MapFlags,
    value: PhantomData<T>,
}

impl<T: MapValue> Single<T> {
    pub fn new(map: &MapMut<'_>) -> anyhow::Result<Self> {
        Self::with_flags(map, MapFlags::ANY)
    }

    /// For a value that begins with a `bpf_spin_lock`: reads and writes hold it, so that both are atomic.
    pub fn locked(map: &MapMut<'_>) -> anyhow::Result<Self> {
        Self::with_flags(map, MapFlags::LOCK)
    }

    fn with_flags(map: &MapMut<'_>, flags: MapFlags) -> anyhow::Result<Self> {
        let map = MapHandle::try_from(map).context("BPF map")?;
        anyhow::ensure!(
            map.value_size() as usize == size_of::<T>(),
            "BPF map {:?} holds {} bytes, this agent expects {}: rebuild it",
            map.name(),
            map.value_size(),
            size_of::<T>()
        );
        Ok(Self {
            map,
            flags,
            value: PhantomData,
        })
    }

    pub fn read(&self) -> anyhow::Result<T> {
        let bytes = self
            .map
            .lookup(&0u32.to_ne_bytes(), self.flags)
            .with_context(|| format!("cannot read BPF map {:?}", self.map.name()))?
            .context("an array map has all its entries")?;
        anyhow::ensure!(
            bytes.len() >= size_of::<T>(),
            "BPF map {:?} gave {} bytes",
            self.map.name(),
            bytes.len()
        );
        // SAFETY: long enough, and MapValue allows any bit pattern.
        Ok(unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) })
    }

    pub fn write(&self, value: &T) -> anyhow::Result<()> {
        // SAFETY: a MapValue is plain memory; the kernel copies it.
        let bytes =
            unsafe { slice::from_raw_parts(ptr::from_ref(value).cast::<u8>(), size_of::<T>()) };
        self.write_bytes(bytes)
    }

    pub fn zero(&self) -> anyhow::Result<()> {
        self.write_bytes(&vec![0; size_of::<T>()])
    }

    fn write_bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.map
            .update(&0u32.to_ne_bytes(), bytes, self.flags)
            .with_context(|| format!("cannot write BPF map {:?}", self.map.name()))
    }
}
