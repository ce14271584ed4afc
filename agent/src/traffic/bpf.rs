//! What all BPF users here share: libbpf's messages in our errors, and maps with one entry.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::slice;
use std::sync::Once;

use anyhow::{Context, anyhow};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut, PrintLevel, set_print};

/// The verifier's verdict stands at the end of its log; the rest is the way there.
const LOG_LINES_KEPT: usize = 12;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs a libbpf operation; what libbpf had to say (the verifier's last lines above all) goes into
/// the error.
pub(crate) fn with_libbpf_log<T>(
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
pub(crate) fn check(result: i32) -> libbpf_rs::Result<i32> {
    if result < 0 {
        Err(libbpf_rs::Error::from_raw_os_error(-result))
    } else {
        Ok(result)
    }
}

const GLOBAL: i32 = libc::MEMBARRIER_CMD_GLOBAL;

/// Whether [`await_running_programs`] can do so on this kernel.
pub(crate) fn can_await_running_programs() -> bool {
    membarrier(libc::MEMBARRIER_CMD_QUERY).is_ok_and(|commands| commands & GLOBAL != 0)
}

/// Returns when every BPF program that was running has ended: the barrier waits for an RCU grace
/// period, and programs run in read-side critical sections.
pub(crate) fn await_running_programs() -> anyhow::Result<()> {
    membarrier(GLOBAL)
        .map(drop)
        .context("membarrier, to wait for running BPF programs")
}

fn membarrier(command: i32) -> io::Result<i32> {
    // SAFETY: takes integers only.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        result if result < 0 => Err(io::Error::last_os_error()),
        result => Ok(result as i32),
    }
}

/// A map value as clang laid it out.
///
/// # Safety
/// The type is `repr(C)` with integers only and no padding.
pub(crate) unsafe trait MapValue: Copy {
    /// The value that these bytes of a map are.
    fn of(bytes: &[u8]) -> anyhow::Result<Self> {
        anyhow::ensure!(
            bytes.len() >= size_of::<Self>(),
            "a BPF map has a shorter value than it should"
        );
        // SAFETY: long enough, and any bytes make a MapValue.
        Ok(unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) })
    }

    /// The bytes that this value is in a map.
    fn bytes(&self) -> &[u8] {
        // SAFETY: a MapValue has no padding, so all its bytes are initialised.
        unsafe { slice::from_raw_parts(ptr::from_ref(self).cast::<u8>(), size_of::<Self>()) }
    }
}

/// The name of a thread, as the kernel keeps it: up to the first zero.
pub(crate) fn comm_text(comm: &[i8]) -> String {
    let name: Vec<_> = comm
        .iter()
        .take_while(|&&byte| byte != 0)
        .map(|&byte| byte as u8)
        .collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// An entry of an array map, which often is the only one.
#[derive(Debug)]
pub(crate) struct Single<T> {
    map: MapHandle,
    key: [u8; 4],
    flags: MapFlags,
    value: PhantomData<T>,
}

impl<T: MapValue> Single<T> {
    pub fn new(map: &MapMut<'_>) -> anyhow::Result<Self> {
        Self::entry(map, 0)
    }

    /// One of several, by its place.
    pub fn entry(map: &MapMut<'_>, place: u32) -> anyhow::Result<Self> {
        Self::with_flags(map, place, MapFlags::ANY)
    }

    /// For a value that begins with a `bpf_spin_lock`: reads and writes hold it.
    pub fn locked(map: &MapMut<'_>) -> anyhow::Result<Self> {
        Self::with_flags(map, 0, MapFlags::LOCK)
    }

    fn with_flags(map: &MapMut<'_>, place: u32, flags: MapFlags) -> anyhow::Result<Self> {
        Ok(Self {
            map: MapHandle::try_from(map).context("BPF map")?,
            key: place.to_ne_bytes(),
            flags,
            value: PhantomData,
        })
    }

    pub fn read(&self) -> anyhow::Result<T> {
        let entry = self.map.lookup(&self.key, self.flags);
        let bytes = entry
            .with_context(|| self.failed("read"))?
            .with_context(|| self.failed("find an entry in"))?;
        self.value(&bytes)
    }

    /// The value of each CPU, for a per-CPU array.
    pub fn read_per_cpu(&self) -> anyhow::Result<Vec<T>> {
        let entry = self.map.lookup_percpu(&self.key, self.flags);
        let cpus = entry
            .with_context(|| self.failed("read"))?
            .with_context(|| self.failed("find an entry in"))?;
        cpus.iter().map(|bytes| self.value(bytes)).collect()
    }

    pub fn write(&self, value: &T) -> anyhow::Result<()> {
        self.write_bytes(value.bytes())
    }

    pub fn zero(&self) -> anyhow::Result<()> {
        self.write_bytes(&vec![0; size_of::<T>()])
    }

    fn write_bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.map
            .update(&self.key, bytes, self.flags)
            .with_context(|| self.failed("write"))
    }

    fn value(&self, bytes: &[u8]) -> anyhow::Result<T> {
        T::of(bytes).with_context(|| self.failed("read"))
    }

    fn failed(&self, what: &str) -> String {
        format!("cannot {what} BPF map {:?}", self.map.name())
    }
}
