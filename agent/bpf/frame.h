/* SPDX-License-Identifier: Apache-2.0 */
/* The test frame, as the sources write it and the sinks read it. All fields are big endian. */
#ifndef VTAX_FRAME_H
#define VTAX_FRAME_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define FRAME_MAGIC 0x76746178 /* "vtax" */

enum phase { PHASE_NONE, PHASE_PROBE, PHASE_WARMUP, PHASE_MEASURE, PHASES };

#define PHASE_FLAG_PROBE 0x80 /* this frame's delay is to be taken */
#define STREAM_FLAG_EXTRA_LANE 0x80 /* sent beside the flood, numbered by itself */

/*
 * A frame from the checksum of its UDP header on: 14 bytes of Ethernet, 4 of an 802.1Q tag if it has
 * one, 20 of IPv4 or 40 of IPv6, and 6 of UDP stand before. So declared, and aligned, clang loads
 * whole fields where their offsets allow it; packets need not be aligned, where loads may be
 * unaligned (x86-64).
 */
struct test_frame {
	__be16 udp_checksum;
	__be32 magic;
	__be32 trial;
	__u8 phase;
	__u8 stream;
	__be32 sequence;
	__be64 time_ns; /* CLOCK_MONOTONIC: when a paced frame was due; a flood: just before the send */
} __attribute__((packed, aligned(8)));

_Static_assert(sizeof(struct test_frame) == 24, "the test fields take 22 bytes");

struct vlan_tag {
	__be16 control;
	__be16 type;
};

#define UDP_CHECKSUM_AT __builtin_offsetof(struct udphdr, check)
/* The longest headers before a struct test_frame. */
#define MOST_HEADER_BYTES                                                                          \
	(sizeof(struct ethhdr) + sizeof(struct vlan_tag) + sizeof(struct ipv6hdr) + UDP_CHECKSUM_AT)

static __always_inline enum phase frame_phase(const struct test_frame *frame)
{
	return frame->phase & ~PHASE_FLAG_PROBE;
}

/* The test frame that follows the headers of IP and UDP at `udp`, or NULL. */
static __always_inline struct test_frame *parse_test_fields(void *udp, const void *end)
{
	struct test_frame *frame = udp + UDP_CHECKSUM_AT;

	if ((void *)(frame + 1) > end || frame->magic != bpf_htonl(FRAME_MAGIC))
		return NULL;
	if (frame_phase(frame) == PHASE_NONE || frame_phase(frame) >= PHASES)
		return NULL;
	return frame;
}

/* The test frame whose headers of type `type` begin at `network`, or NULL. */
static __always_inline struct test_frame *parse_network(__be16 type, void *network, const void *end)
{
	if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = network;

		if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5 || ip->protocol != IPPROTO_UDP)
			return NULL;
		return parse_test_fields(ip + 1, end);
	}
	if (type == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = network;

		if ((void *)(ip + 1) > end || ip->version != 6 || ip->nexthdr != IPPROTO_UDP)
			return NULL;
		return parse_test_fields(ip + 1, end);
	}
	return NULL;
}

/* The test frame at `data`, or NULL when what lies there is other traffic. */
static __always_inline struct test_frame *parse_test_frame(void *data, const void *end)
{
	struct ethhdr *ethernet = data;
	struct vlan_tag *tag = (void *)(ethernet + 1);

	if ((void *)(tag + 1) > end)
		return NULL;
	if (ethernet->h_proto == bpf_htons(ETH_P_8021Q))
		return parse_network(tag->type, tag + 1, end);
	return parse_network(ethernet->h_proto, tag, end);
}

/* As parse_test_frame, for a socket buffer whose headers may lie outside its linear part. */
static __always_inline struct test_frame *parse_test_skb(struct __sk_buff *skb)
{
	__u64 wanted = MOST_HEADER_BYTES + sizeof(struct test_frame);

	if (wanted > skb->len)
		wanted = skb->len;
	if ((void *)(long)skb->data + wanted > (void *)(long)skb->data_end)
		bpf_skb_pull_data(skb, wanted);
	return parse_test_frame((void *)(long)skb->data, (void *)(long)skb->data_end);
}

/* Bytes of the frame as it was on the link: the kernel takes a tag out before a classifier sees it. */
static __always_inline __u32 frame_bytes_of(const struct __sk_buff *skb)
{
	return skb->len + (skb->vlan_present ? sizeof(struct vlan_tag) : 0);
}

#endif
