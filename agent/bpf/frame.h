/* SPDX-License-Identifier: Apache-2.0 */
/* The test frame, as the sources write it and the sinks read it. All fields are big endian. */
#ifndef VTAX_FRAME_H
#define VTAX_FRAME_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define FRAME_MAGIC 0x76746178 /* "vtax" */

enum phase { PHASE_NONE, PHASE_PROBE, PHASE_WARMUP, PHASE_MEASURE, PHASES };

#define PHASE_FLAG_PROBE 0x80 /* this frame's delay is to be taken */
#define STREAM_FLAG_EXTRA_LANE 0x80 /* sent beside the flood, numbered by itself */

/*
 * 64 bytes, the smallest frame. Declared aligned so that clang loads whole fields where their
 * offsets allow it; packets need not be, where loads may be unaligned (x86-64).
 */
struct test_frame {
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
	__be32 magic;
	__be32 trial;
	__u8 phase;
	__u8 stream;
	__be32 sequence;
	__be64 time_ns; /* CLOCK_MONOTONIC: when a paced frame was due; a flood: just before the send */
} __attribute__((packed, aligned(8)));

_Static_assert(sizeof(struct test_frame) == 64, "the test frame's header fills the smallest frame");

static __always_inline enum phase frame_phase(const struct test_frame *frame)
{
	return frame->phase & ~PHASE_FLAG_PROBE;
}

/* The test frame at `data`, or NULL when what lies there is other traffic. */
static __always_inline struct test_frame *parse_test_frame(void *data, const void *end)
{
	struct test_frame *frame = data;

	if ((void *)(frame + 1) > end)
		return NULL;
	if (frame->ethernet.h_proto != bpf_htons(ETH_P_IP) || frame->ip.version != 4 ||
	    frame->ip.ihl != 5 || frame->ip.protocol != IPPROTO_UDP ||
	    frame->magic != bpf_htonl(FRAME_MAGIC))
		return NULL;
	if (frame_phase(frame) == PHASE_NONE || frame_phase(frame) >= PHASES)
		return NULL;
	return frame;
}

/* As parse_test_frame, for a socket buffer whose headers may lie outside its linear part. */
static __always_inline struct test_frame *parse_test_skb(struct __sk_buff *skb)
{
	if (skb->data + sizeof(struct test_frame) > skb->data_end && skb->len >= sizeof(struct test_frame))
		bpf_skb_pull_data(skb, sizeof(struct test_frame));
	return parse_test_frame((void *)(long)skb->data, (void *)(long)skb->data_end);
}

#endif
