/* SPDX-License-Identifier: Apache-2.0 */
/* The first frames as they came: a copy of each one's first bytes. */
#ifndef VTAX_CAPTURE_H
#define VTAX_CAPTURE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "frame.h"

#define NOT_CAPTURED 0xffffffff
#define TAG_AT __builtin_offsetof(struct ethhdr, h_proto)
#define TAG_END (TAG_AT + sizeof(struct vlan_tag))

struct captured {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 frame_bytes;
	__u32 kept_bytes;
	__u8 bytes[];
};

/* Set before loading; without frames to keep, the verifier takes all of this out. */
const volatile __u32 capture_frames;
const volatile __u32 snap_bytes;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* capture_frames */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct captured)); /* and snap_bytes more */
} sink_captures SEC(".maps");

static __always_inline long load_xdp(struct xdp_md *context, __u8 *to, __u32 bytes)
{
	return bpf_xdp_load_bytes(context, 0, to, bytes);
}

/* The tag that the kernel took out is put back to where it was. */
static __always_inline long load_skb(struct __sk_buff *skb, __u8 *to, __u32 bytes)
{
	const __be16 tag[] = {skb->vlan_proto, bpf_htons(skb->vlan_tci)};

	if (!skb->vlan_present || bytes <= TAG_END)
		return bpf_skb_load_bytes(skb, 0, to, bytes);
	__builtin_memcpy(to + TAG_AT, tag, sizeof(tag));
	return bpf_skb_load_bytes(skb, 0, to, TAG_AT) ?:
		       bpf_skb_load_bytes(skb, TAG_AT, to + TAG_END, bytes - TAG_END);
}

/* Copies a frame by `load`, which reads the program's kind of context. */
#define capture(context, load, place, length, now_ns)                                              \
	do {                                                                                       \
		__u32 key = place, frame_length = length, snap = snap_bytes;                       \
		__u32 kept = frame_length < snap ? frame_length : snap;                            \
		struct captured *to = 0;                                                           \
                                                                                                   \
		barrier_var(kept); /* the verifier loses the bound otherwise */                    \
		if (key < capture_frames && kept && kept <= snap)                                  \
			to = bpf_map_lookup_elem(&sink_captures, &key);                            \
		if (to && !load(context, to->bytes, kept)) {                                       \
			to->time_ns = now_ns;                                                      \
			to->frame_bytes = frame_length;                                            \
			to->kept_bytes = kept;                                                     \
		}                                                                                  \
	} while (0)

#endif
