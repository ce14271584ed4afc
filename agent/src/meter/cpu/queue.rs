//! Where the kernel keeps what is being interrupted: a CPU's preemption count, as seen from its run queue.

use anyhow::Context;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Var};

use crate::traffic::bpf::with_libbpf_log;

const SECTION: &str = ".data..percpu";
const QUEUE: &str = "runqueues";
/// The count, or from Linux 6.2 to 6.14 the structure that has it.
const COUNTS: [&str; 2] = ["__preempt_count", "pcpu_hot"];

/// How far the variable that has the count lies behind the run queue, in bytes, from the running kernel's BTF.
pub(super) fn count_from_queue() -> anyhow::Result<i64> {
    let btf = with_libbpf_log("cannot read the kernel's BTF", Btf::from_vmlinux)?;
    let section: DataSec<'_> = btf
        .type_by_name(SECTION)
        .context("the kernel's BTF does not tell where a CPU's variables lie")?;
    let place = |wanted: &str| {
        section.iter().find_map(|variable| {
            let found: Var<'_> = btf.type_by_id(variable.ty)?;
            (found.name()?.to_str()? == wanted).then_some(i64::from(variable.offset))
        })
    };
    let queue = place(QUEUE).context("the kernel's BTF has no run queues")?;
    let count = COUNTS.into_iter().find_map(place);
    Ok(count.context("the kernel's BTF has no preemption count")? - queue)
}
