// SPDX-License-Identifier: Apache-2.0
/*
 * Files each sample of a CPU's clock under whose time it is: the task on the CPU, its cgroup, and whether the sample
 * fell into the task itself, into a soft interrupt on top of it, or into a hard one.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

enum context { CONTEXT_TASK, CONTEXT_SOFTIRQ, CONTEXT_HARDIRQ };

/* The kernel's own (linux/preempt.h, linux/sched.h). */
#define SOFTIRQ_SERVED 0x100 /* set while one is served; while they are only held off, the bits above it */
#define HARDIRQ_SHIFT 16
#define HARDIRQ_MASK 0xf
#define PF_KTHREAD 0x00200000

/* A virtual machine's clock interrupts are late by up to some 30 us while nothing is wrong. */
#define PAUSE_NS 100000

struct rq {
	int cpu;
} __attribute__((preserve_access_index));

struct cfs_rq {
	struct rq *rq;
} __attribute__((preserve_access_index));

struct sched_entity {
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

struct timerqueue_node {
	long long expires; /* CLOCK_MONOTONIC */
} __attribute__((preserve_access_index));

struct hrtimer {
	struct timerqueue_node node;
} __attribute__((preserve_access_index));

struct hw_perf_event {
	struct hrtimer hrtimer;
} __attribute__((preserve_access_index));

struct perf_event {
	struct hw_perf_event hw;
} __attribute__((preserve_access_index));

struct bpf_perf_event_data_kern {
	struct perf_event *event;
} __attribute__((preserve_access_index));

struct pcpu_hot {
	int preempt_count;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int flags;
	int tgid;
	struct task_struct *real_parent;
	struct sched_entity se;
} __attribute__((preserve_access_index));

struct owner {
	__u64 cgroup;
	__u32 cpu;
	__u32 tgid;
	__u32 tid;
	__u32 context;
};

/* `comm`, `parent` and `kernel` are those of the first sample. */
struct filed {
	__u64 samples;
	__u32 parent; /* process id */
	__u32 kernel; /* 1: a thread of the kernel's own */
	char comm[16];
};

struct window {
	__u64 start_ns; /* CLOCK_MONOTONIC, as is the next */
	__u64 end_ns;
};

struct taken {
	__u64 samples; /* in the window, filed or not */
	__u64 unfiled; /* of these, those that there was no room for, or whose context cannot be told */
	__u64 late_ns; /* how long after they were due all samples were taken */
	__u64 latest_ns; /* the same of the latest sample */
	__u64 paused; /* samples that were late by PAUSE_NS or more */
	__u64 missed; /* samples that were due meanwhile, and never taken */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, struct owner);
	__type(value, struct filed);
} cpu_filed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct window);
} cpu_window SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32); /* CPU */
	__type(value, struct taken);
} cpu_taken SEC(".maps");

/*
 * Where the variable that has a CPU's preemption count lies, from where the CPU's run queue does: not every kernel lets a
 * program name a CPU's variables. Set before loading.
 */
const volatile __s64 count_from_queue;

const volatile __u64 period_ns; /* between two samples of a CPU; set before loading */

/* What the clock's interrupt came upon; below 0 where that cannot be told. One hard interrupt is the clock's own. */
static __always_inline int interrupted(const struct task_struct *task, int cpu)
{
	const struct rq *queue = task->se.cfs_rq->rq;
	const char *place = (const char *)queue + count_from_queue;
	int count;

	if (bpf_core_type_exists(struct pcpu_hot))
		place += bpf_core_field_offset(struct pcpu_hot, preempt_count);
	if (queue->cpu != cpu || bpf_probe_read_kernel(&count, sizeof(count), place))
		return -1;
	if (((count >> HARDIRQ_SHIFT) & HARDIRQ_MASK) > 1)
		return CONTEXT_HARDIRQ;
	return count & SOFTIRQ_SERVED ? CONTEXT_SOFTIRQ : CONTEXT_TASK;
}

/* When the clock's interrupt was due; the kernel sets its next time only after us. */
static __always_inline __u64 due_ns(const struct bpf_perf_event_data_kern *clock)
{
	return BPF_CORE_READ(clock, event, hw.hrtimer.node.expires);
}

static __always_inline bool file(const struct owner *owner, const struct task_struct *task)
{
	struct filed *filed = bpf_map_lookup_elem(&cpu_filed, owner);

	if (!filed) {
		struct filed first = {
			.parent = task->real_parent->tgid,
			.kernel = !!(task->flags & PF_KTHREAD),
		};

		bpf_get_current_comm(first.comm, sizeof(first.comm));
		bpf_map_update_elem(&cpu_filed, owner, &first, BPF_NOEXIST);
		filed = bpf_map_lookup_elem(&cpu_filed, owner);
		if (!filed)
			return false;
	}
	/* A key has one CPU, and the clock's interrupt does not interrupt itself: no atomic addition is needed. */
	filed->samples++;
	return true;
}

SEC("perf_event")
int cpu_sample(void *event)
{
	const struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 now_ns = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	__u32 only = 0, cpu = bpf_get_smp_processor_id();
	const struct window *window = bpf_map_lookup_elem(&cpu_window, &only);
	struct taken *taken = bpf_map_lookup_elem(&cpu_taken, &cpu);

	if (!window || !taken || now_ns < window->start_ns || now_ns >= window->end_ns)
		return 0;

	__u64 late_ns = now_ns - due_ns(event);
	int context = interrupted(task, cpu);
	struct owner owner = {
		.cgroup = bpf_get_current_cgroup_id(),
		.cpu = cpu,
		.tgid = id >> 32,
		.tid = id,
		.context = context,
	};

	taken->samples++;
	taken->late_ns += late_ns;
	if (late_ns > taken->latest_ns)
		taken->latest_ns = late_ns;
	if (late_ns >= PAUSE_NS) {
		taken->paused++;
		taken->missed += late_ns / period_ns;
	}
	if (context < 0 || !file(&owner, task))
		taken->unfiled++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
