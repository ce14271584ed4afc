// SPDX-License-Identifier: Apache-2.0
/*
 * Files the time between two switches of a CPU under the process that had it; that of the process which loads this, and
 * idle time, is left out.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define PF_KTHREAD 0x00200000 /* the kernel's own (linux/sched.h) */

struct task_struct {
	unsigned int flags;
} __attribute__((preserve_access_index));

/* `comm` and `kernel` are those of the thread that had the CPU last. */
struct had {
	__u64 run_ns;
	__u32 kernel; /* 1: a thread of the kernel's own */
	char comm[16];
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32); /* process id */
	__type(value, struct had);
} switches_had SEC(".maps");

/* Who loads this: its process id, in the namespace of process ids that these name. Set before loading. */
const volatile __u32 own_pid;
const volatile __u64 namespace_device;
const volatile __u64 namespace_inode;

/* When the CPU was switched last; the program runs on one CPU. */
__u64 switched_ns;

static __always_inline int is_own(void)
{
	struct bpf_pidns_info ids = {};

	return !bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &ids, sizeof(ids)) &&
	       ids.tgid == own_pid;
}

SEC("perf_event")
int switches_file(void *event)
{
	const struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 now_ns = bpf_ktime_get_ns(), since_ns = switched_ns;
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	(void)event;
	switched_ns = now_ns;
	if (!since_ns || !tgid || is_own())
		return 0;

	struct had *had = bpf_map_lookup_elem(&switches_had, &tgid);

	if (!had) {
		struct had none = {};

		bpf_map_update_elem(&switches_had, &tgid, &none, BPF_NOEXIST);
		had = bpf_map_lookup_elem(&switches_had, &tgid);
		if (!had)
			return 0;
	}
	had->run_ns += now_ns - since_ns;
	had->kernel = !!(task->flags & PF_KTHREAD);
	bpf_get_current_comm(had->comm, sizeof(had->comm));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
