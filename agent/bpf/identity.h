/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a frame is, wherever it is met: its stamp, or the fields of its headers that no hop changes.
 *
 * Not among them: MAC addresses, TTL, checksums, and what cutting a train of TCP segments or putting them together
 * changes, so that a train is followed by its first segment.
 */
#ifndef VTAX_IDENTITY_H
#define VTAX_IDENTITY_H

#include <stdbool.h>
#include "frame.h"
#include "kernel.h"

#define NOBODY 0

#define FRAGMENT 0x3fff /* in frag_off: an offset, or more fragments to come */
#define FLOW_LABEL 0x000fffff
#define TCP_WINDOW 0x0000ffff
#define TCP_HEADER_WORDS(word) ((word) >> 28)

enum follow { FOLLOW_STAMP, FOLLOW_HEADERS };

const volatile __u32 follow; /* set before loading */

/* What stands in a test frame behind its UDP header. */
struct stamp {
	__be32 magic;
	__be32 trial;
	__u8 phase;
	__u8 stream;
	__be16 sequence_high;
	__be16 sequence_low;
	__be16 departure[4];
};

struct transport {
	__be32 ports;
	union {
		__be32 word[5];
		struct {
			__be16 bytes;
			__u16 checksum;
			union {
				__be32 payload[2];
				struct stamp stamp;
			};
		} udp;
		struct {
			__be32 sequence;
			__be32 acknowledged;
			__be32 offset_flags_window;
		} tcp;
		struct {
			__be32 verification_tag;
			__u32 checksum;
			__be32 chunk; /* type, flags, length of the first */
			__be32 tsn;
		} sctp;
	};
};

/* A frame from two bytes before its EtherType on, where those of an IP header are aligned. */
struct front {
	__u16 before;
	__be16 type;
	union {
		struct {
			struct iphdr ip;
			struct transport transport;
		} v4;
		struct {
			struct ipv6hdr ip;
			struct transport transport;
		} v6;
	};
};

#define FRONT_AT (__builtin_offsetof(struct ethhdr, h_proto) - __builtin_offsetof(struct front, type))

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

static __always_inline __u64 departure_of(const struct stamp *stamp)
{
	__u64 departure = 0;

	for (int at = 0; at < 4; at++)
		departure = departure << 16 | bpf_ntohs(stamp->departure[at]);
	return departure;
}

/* Also tells when a frame departed and how late; see departure.h. */
static __always_inline __u64 mix_stamp(const struct transport *transport, __u8 protocol, __u64 *departure)
{
	const struct stamp *stamp = &transport->udp.stamp;
	__u64 numbers = (__u64)stamp->trial << 32 | (__u32)stamp->sequence_high << 16 | stamp->sequence_low;

	if (protocol != IPPROTO_UDP || stamp->magic != bpf_htonl(FRAME_MAGIC))
		return NOBODY;
	if ((stamp->phase & ~PHASE_FLAG_PROBE) != PHASE_MEASURE)
		return NOBODY;
	*departure = departure_of(stamp);
	return mix(mix(FRAME_MAGIC, numbers), stamp->stream) ?: 1;
}

/* `payload_bytes` are those of IP. */
static __always_inline __u64 mix_transport(__u64 hash, const struct transport *transport, __u8 protocol,
					   __u32 payload_bytes)
{
	hash = mix(hash, (__u64)transport->ports << 8 | protocol);
	if (protocol == IPPROTO_TCP) {
		__u32 offset_flags_window = bpf_ntohl(transport->tcp.offset_flags_window);
		__u32 header_bytes = TCP_HEADER_WORDS(offset_flags_window) * 4;

		/* An acknowledgement alone has the numbers of the data that come next. */
		hash = mix(hash, (__u64)transport->tcp.sequence << 32 | transport->tcp.acknowledged);
		hash = mix(hash, (offset_flags_window & TCP_WINDOW) << 1 | (payload_bytes > header_bytes));
	} else if (protocol == IPPROTO_UDP) {
		__u32 bytes = bpf_ntohs(transport->udp.bytes);

		hash = mix(hash, bytes);
		if (bytes >= sizeof(struct udphdr) + sizeof(transport->udp.payload))
			hash = mix(hash, (__u64)transport->udp.payload[0] << 32 | transport->udp.payload[1]);
	} else if (protocol == IPPROTO_SCTP) {
		hash = mix(hash, (__u64)transport->sctp.verification_tag << 32 | transport->sctp.tsn);
		hash = mix(hash, transport->sctp.chunk);
	} else {
		hash = mix(hash, (__u64)payload_bytes << 32 | transport->word[0]);
	}
	return hash ?: 1;
}

static __always_inline __u64 identify_v4(const struct iphdr *ip, const struct transport *transport,
					 __u64 *departure)
{
	if (ip->version != 4 || ip->ihl != 5 || ip->frag_off & bpf_htons(FRAGMENT))
		return NOBODY;
	if (follow == FOLLOW_STAMP)
		return mix_stamp(transport, ip->protocol, departure);
	return mix_transport(mix(mix(0, ip->id), (__u64)ip->saddr << 32 | ip->daddr), transport,
			     ip->protocol, bpf_ntohs(ip->tot_len) - sizeof(*ip));
}

static __always_inline __u64 identify_v6(const struct ipv6hdr *ip, const struct transport *transport,
					 __u64 *departure)
{
	const __be32 *source = ip->saddr.in6_u.u6_addr32, *destination = ip->daddr.in6_u.u6_addr32;
	__u64 hash = mix(0, *(const __be32 *)ip & bpf_htonl(FLOW_LABEL));

	if (ip->version != 6)
		return NOBODY;
	if (follow == FOLLOW_STAMP)
		return mix_stamp(transport, ip->nexthdr, departure);
	for (int at = 0; at < 4; at += 2) {
		hash = mix(hash, (__u64)source[at] << 32 | source[at + 1]);
		hash = mix(hash, (__u64)destination[at] << 32 | destination[at + 1]);
	}
	return mix_transport(hash, transport, ip->nexthdr, bpf_ntohs(ip->payload_len));
}

/*
 * Whose the packet is; NOBODY where that cannot be told or is not followed. It may be at any point of its way on an Ethernet
 * interface. `departure` is set where frames are followed by their stamps.
 */
static __always_inline __u64 identify(const struct sk_buff *skb, __u64 *departure)
{
	const unsigned char *link = skb->head + skb->mac_header + FRONT_AT;
	struct front front;

	if (bpf_probe_read_kernel(&front, sizeof(front), link))
		return NOBODY;
	if (front.type == bpf_htons(ETH_P_8021Q) &&
	    bpf_probe_read_kernel(&front, sizeof(front), link + sizeof(struct vlan_tag)))
		return NOBODY;
	if (front.type == bpf_htons(ETH_P_IP))
		return identify_v4(&front.v4.ip, &front.v4.transport, departure);
	if (front.type == bpf_htons(ETH_P_IPV6))
		return identify_v6(&front.v6.ip, &front.v6.transport, departure);
	return NOBODY;
}

#endif
