// SPDX-License-Identifier: Apache-2.0
/*
 * Counts the test frames, or all, that the kernel drops in some network namespaces, by interface and by the kernel's own reason.
 *
 * A frame that was consumed is none that was dropped: the kernel tells the two apart, except for a sink's, which its
 * XDP program drops in `sink_netns`.
 */
#include <stdbool.h>
#include "frame.h"
#include "kernel.h"
#include <bpf/bpf_core_read.h>

struct place {
	__u32 netns; /* inode number */
	__u32 interface; /* index */
	__u32 reason;
	__u32 arrived; /* 1: the interface had received it; 0: it was on its way out of it, or into it */
};

struct dropped {
	__u64 frames;
	char interface[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, struct place);
	__type(value, struct dropped);
} drops_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32); /* inode number */
	__type(value, __u8);
} drops_netns SEC(".maps");

__u64 lost_events; /* frames that were not counted: no room for their place */

/* Set before loading. */
const volatile __u32 sink_netns;
const volatile __u32 not_specified;
const volatile bool any_frames;

/* Whether the packet is a test frame. The Ethernet header in front of it may have been taken off. */
static __always_inline bool is_test_frame(const struct sk_buff *skb)
{
	const unsigned char *network = skb->head + skb->network_header;
	struct {
		struct udphdr udp;
		__be32 magic;
	} datagram;
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
	} ip;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), network))
		return false;

	bool is_v4 = ip.v4.version == 4 && ip.v4.protocol == IPPROTO_UDP;
	bool is_v6 = ip.v6.version == 6 && ip.v6.nexthdr == IPPROTO_UDP;

	if (!is_v4 && !is_v6)
		return false;
	network += is_v4 ? sizeof(ip.v4) : sizeof(ip.v6);
	if (bpf_probe_read_kernel(&datagram, sizeof(datagram), network))
		return false;
	return datagram.magic == bpf_htonl(FRAME_MAGIC);
}

/* More than one where frames were merged on their way. */
static __always_inline __u32 frames_in(const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 segments = BPF_CORE_READ(shared, gso_segs);

	return segments ? segments : 1;
}

SEC("tp_btf/kfree_skb")
int drops_count(__u64 *context)
{
	const struct sk_buff *skb = (void *)context[0];
	__u32 reason = context[2];
	const struct net_device *device = skb->dev;
	struct place place = {
		.netns = device->nd_net.net->ns.inum,
		.interface = device->ifindex,
		.reason = reason,
	};

	if (!any_frames && place.netns == sink_netns && reason == not_specified)
		return 0;
	if (!bpf_map_lookup_elem(&drops_netns, &place.netns))
		return 0;
	if (!any_frames && !is_test_frame(skb))
		return 0;
	place.arrived = skb->skb_iif == (int)place.interface;

	struct dropped *dropped = bpf_map_lookup_elem(&drops_places, &place);

	if (!dropped) {
		struct dropped none = {};

		bpf_probe_read_kernel_str(none.interface, sizeof(none.interface), device->name);
		bpf_map_update_elem(&drops_places, &place, &none, BPF_NOEXIST);
		dropped = bpf_map_lookup_elem(&drops_places, &place);
	}
	if (dropped)
		__sync_fetch_and_add(&dropped->frames, frames_in(skb));
	else
		__sync_fetch_and_add(&lost_events, frames_in(skb));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
