// SPDX-License-Identifier: Apache-2.0
/*
 * The far end of a bench, the same for every source: frames of the length under test are counted and dropped, at tc
 * or at XDP. All else passes: the control connection of a peer, and a train that left uncut, which has another length.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#define MARK 1024	/* the clock is read once in so many frames */
#define SETTLED 65536	/* from this frame on */

/* One queue, one CPU at a time. */
struct count {
	__u64 frames;
	__u64 first_frames, first_ns;
	__u64 last_frames, last_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

static __always_inline int drops(__u64 frame_bytes)
{
	__u32 zero = 0;
	struct count *count = bpf_map_lookup_elem(&counts, &zero);

	if (!count || frame_bytes != FRAME_BYTES)
		return 0;
	if (++count->frames % MARK)
		return 1;
	if (count->frames >= SETTLED) {
		count->last_ns = bpf_ktime_get_ns();
		count->last_frames = count->frames;
		if (!count->first_ns) {
			count->first_ns = count->last_ns;
			count->first_frames = count->frames;
		}
	}
	return 1;
}

SEC("tc")
int count_tc(struct __sk_buff *skb)
{
	return drops(skb->len) ? TC_ACT_SHOT : TC_ACT_OK;
}

SEC("xdp")
int count_xdp(struct xdp_md *context)
{
	return drops(context->data_end - context->data) ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
