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

#include "departure.h"
#include "layout.h"

enum phase { PHASE_NONE, PHASE_PROBE, PHASE_WARMUP, PHASE_MEASURE, PHASES };

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
	__be64 departure; /* CLOCK_MONOTONIC just before the send, in ns, and how late that was */
} __attribute__((packed, aligned(8)));

_Static_assert(sizeof(struct test_frame) == 24, "the test fields take 22 bytes");

/*
 * A frame of the kernel's own packet generator (pktgen), from its UDP header on. Its fields have no
 * room for a trial, so its ports tell what a test frame does (frame/ports.rs):
 *
 *     source port 1 trial:15 | destination port 1 trial:6 phase:2 stream:7
 *
 * Its time is that of the day, without meaning here: no delay is taken from it.
 */
#define PKTGEN_MAGIC 0xbe9be955
#define PKTGEN_PORTS 0x80008000 /* set in every such frame */
#define PKTGEN_FIRST 1 /* its first sequence; ours is 0 */

struct pktgen_frame {
	struct udphdr udp;
	__be32 magic;
	__be32 sequence;
};

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

/* pktgen's frame at `udp` as a test frame in `told`; NULL where it is none of ours. */
static __always_inline struct test_frame *translate(const struct pktgen_frame *udp,
						    struct test_frame *told)
{
	__u32 ports = (__u32)bpf_ntohs(udp->udp.source) << 16 | bpf_ntohs(udp->udp.dest);
	enum phase phase = ports >> 7 & 3;

	if (udp->magic != bpf_htonl(PKTGEN_MAGIC) || (ports & PKTGEN_PORTS) != PKTGEN_PORTS)
		return NULL;
	if (phase != PHASE_WARMUP && phase != PHASE_MEASURE)
		return NULL; /* a frame of the probe phase tells its delay */
	told->trial = bpf_htonl((ports >> 16 & 0x7fff) << 6 | (ports >> 9 & 0x3f));
	told->phase = phase;
	told->stream = ports & 0x7f;
	told->sequence = bpf_htonl(bpf_ntohl(udp->sequence) - PKTGEN_FIRST);
	told->departure = 0;
	return told;
}

/*
 * The test frame that follows the headers of IP and UDP at `udp`, or NULL. One of pktgen's is
 * translated into `told`; all others go their way without a look at it.
 */
static __always_inline struct test_frame *parse_test_fields(void *udp, const void *end,
							    struct test_frame *told)
{
	struct test_frame *frame = udp + UDP_CHECKSUM_AT;

	if ((void *)(frame + 1) > end)
		return NULL;
	if (frame->magic != bpf_htonl(FRAME_MAGIC))
		return translate(udp, told);
	if (frame_phase(frame) == PHASE_NONE || frame_phase(frame) >= PHASES)
		return NULL;
	return frame;
}

/* The test frame whose headers of type `type` begin at `network`, or NULL. */
static __always_inline struct test_frame *parse_network(__be16 type, void *network, const void *end,
							struct test_frame *told)
{
	if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = network;

		if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5 || ip->protocol != IPPROTO_UDP)
			return NULL;
		return parse_test_fields(ip + 1, end, told);
	}
	if (type == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = network;

		if ((void *)(ip + 1) > end || ip->version != 6 || ip->nexthdr != IPPROTO_UDP)
			return NULL;
		return parse_test_fields(ip + 1, end, told);
	}
	return NULL;
}

/*
 * The test frame at `data`, or NULL when what lies there is other traffic. It lies in the packet, or
 * in `told` where it is pktgen's.
 */
static __always_inline struct test_frame *parse_test_frame(void *data, const void *end,
							   struct test_frame *told)
{
	struct ethhdr *ethernet = data;
	struct vlan_tag *tag = (void *)(ethernet + 1);

	if ((void *)(tag + 1) > end)
		return NULL;
	if (ethernet->h_proto == bpf_htons(ETH_P_8021Q))
		return parse_network(tag->type, tag + 1, end, told);
	return parse_network(ethernet->h_proto, tag, end, told);
}

/* As parse_test_frame, for a socket buffer whose headers may lie outside its linear part. */
static __always_inline struct test_frame *parse_test_skb(struct __sk_buff *skb,
							 struct test_frame *told)
{
	__u64 wanted = MOST_HEADER_BYTES + sizeof(struct test_frame);

	if (wanted > skb->len)
		wanted = skb->len;
	if ((void *)(long)skb->data + wanted > (void *)(long)skb->data_end)
		bpf_skb_pull_data(skb, wanted);
	return parse_test_frame((void *)(long)skb->data, (void *)(long)skb->data_end, told);
}

/* Bytes of the frame as it was on the link: the kernel takes a tag out before a classifier sees it. */
static __always_inline __u32 frame_bytes_of(const struct __sk_buff *skb)
{
	return skb->len + (skb->vlan_present ? sizeof(struct vlan_tag) : 0);
}

#endif
