// SPDX-License-Identifier: Apache-2.0
/*
 * Work of a known length on each frame, where it leaves the unit under test: the CPU reads the clock until as much time
 * has passed as `work` asks for. What each frame's work took is kept: that is the truth. With 0 asked for all else is
 * the same.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#define MOST_READS (1 << 16) /* of the clock: some milliseconds */

struct busy {
	__u64 asked_ns;
	__u64 frames;
	__u64 took_ns; /* by all frames together */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct busy);
} work SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LATEST);
	__type(key, __u32);
	__type(value, __u64);
} latest SEC(".maps"); /* how long each of the latest frames took, in ns */

struct reading {
	__u64 until_ns;
	__u64 now_ns;
};

static long read_clock(__u64 index, void *context)
{
	struct reading *reading = context;

	reading->now_ns = bpf_ktime_get_ns();
	return reading->now_ns >= reading->until_ns;
}

SEC("tc")
int keep_busy(struct __sk_buff *frame)
{
	__u32 only = 0;
	struct busy *busy = bpf_map_lookup_elem(&work, &only);
	__u64 begin_ns = bpf_ktime_get_ns(), *place;

	if (!busy)
		return TC_ACT_OK;
	struct reading reading = { .until_ns = begin_ns + busy->asked_ns };

	bpf_loop(MOST_READS, read_clock, &reading, 0);

	__u64 took_ns = reading.now_ns - begin_ns;
	__u32 at = busy->frames % LATEST;

	busy->frames++;
	busy->took_ns += took_ns;
	place = bpf_map_lookup_elem(&latest, &at);
	if (place)
		*place = took_ns;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";
