// SPDX-License-Identifier: Apache-2.0
/*
 * Drops everything that arrives at an interface and counts the test frames in it: the end of the
 * line when a source's ceiling is calibrated.
 */
#include <linux/pkt_cls.h>
#include "frame.h"

/* What arrived on one CPU; nothing interrupts a classifier there but what never classifies. */
struct arrivals {
	__u64 frames;
	__u64 first_ns;
	__u64 last_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct arrivals);
} ingress_arrivals SEC(".maps");

SEC("tc")
int ingress_drop(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct arrivals *arrivals = bpf_map_lookup_elem(&ingress_arrivals, &zero);
	struct test_frame told;

	if (!arrivals || !parse_test_skb(skb, &told))
		return TC_ACT_SHOT;

	/* A super-packet crosses a veth unsegmented. */
	__u32 frames = skb->gso_segs > 1 ? skb->gso_segs : 1;
	__u64 now_ns = bpf_ktime_get_ns();

	arrivals->frames += frames;
	if (!arrivals->first_ns)
		arrivals->first_ns = now_ns;
	arrivals->last_ns = now_ns;
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Apache-2.0";
