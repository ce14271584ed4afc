// SPDX-License-Identifier: Apache-2.0
/*
 * Where a frame's delay arises: the times between successive points of its way through the kernel.
 *
 * A point is a hook at an interface, a trail a list of points. A frame that has passed the last point of a trail, and all
 * the others of it in their order, files the trail's stages at once: so they add up, of each frame and of all. It only
 * watches: no packet is changed, no interface has a program of ours.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bounds.h"
#include "identity.h"
#include "followed.h"
#include "trails.h"

#define NONE 0xff
#define PLACE_BITS 10
#define PLACE_POINTS 12 /* no fewer than HOOKS, and whole words: what the loader writes has no padding */
#define TIMED_HITS 64 /* one in so many hits is timed */

/* In the order of hook.rs. */
enum hook {
	HOOK_DUE,
	HOOK_WRITE,
	HOOK_ARRIVE,
	HOOK_RECEIVE,
	HOOK_QUEUE,
	HOOK_TRANSMIT,
	HOOK_COPY,
	HOOK_FREE,
	HOOK_DROP,
	HOOKS,
};

/* An interface that is watched. */
struct place {
	__u32 netns; /* inode number */
	__u32 interface; /* index; 0: none */
	__u8 points[PLACE_POINTS]; /* there, by hook; NONE where a hook has none */
};

struct point {
	__u8 is_first; /* of some trail */
	__u8 ends[MOST_TRAIL_ENDS]; /* trails; NONE fills up */
};

/* What the programs of a hook take. */
struct cost {
	__u64 hits;
	__u64 timed;
	__u64 timed_ns;
};

/* Each where place_of finds it: the loader's factor gives every one an entry of its own, and a hash map takes longer. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << PLACE_BITS);
	__type(key, __u32);
	__type(value, struct place);
} stages_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HOOKS);
	__type(key, __u32);
	__type(value, struct cost);
} stages_costs SEC(".maps");

/* When a thread that has written frames began its last system call that writes; 0 where a frame has come of it. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} stages_writers SEC(".maps");

/* Set before loading. */
const volatile struct point points[MOST_POINTS];
const volatile __u64 place_factor;
const volatile __u32 sampled_below; /* followed is whose identity's upper half is no greater */
const volatile __s64 write_calls[2]; /* numbers of system calls */

/* Not static, as stages_attribute. */
__noinline int stages_pass(__u64 identity, __u32 number, __u64 now_ns)
{
	const volatile struct point *point = &points[number % MOST_POINTS];
	__u32 place = place_in_table(identity, now_ns);

	if (!pass(identity, place, number, point->is_first, now_ns))
		return 0;
	for (int at = 0; at < MOST_TRAIL_ENDS; at++) {
		__u8 trail = point->ends[at];

		if (trail == NONE)
			break;
		stages_attribute(place, trail);
	}
	return 0;
}

/* Since when this thread has been writing the frame that arrives; 0 where that was not seen. */
static __always_inline __u64 written_ns(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 *began_ns = bpf_task_storage_get(&stages_writers, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 then_ns = 0;

	if (began_ns) {
		then_ns = *began_ns;
		*began_ns = 0;
	}
	return then_ns;
}

/* Where the packet is; NULL where nothing is watched, and of a packet that a socket has taken, which is nowhere. */
static __always_inline const struct place *place_of(const struct sk_buff *skb)
{
	const struct net_device *device = skb->dev;
	__u32 netns = device->nd_net.net->ns.inum, interface = device->ifindex;
	__u32 entry = ((__u64)netns << 32 | interface) * place_factor >> (64 - PLACE_BITS);
	const struct place *place = bpf_map_lookup_elem(&stages_places, &entry);

	if (!interface || !place || place->interface != interface || place->netns != netns)
		return NULL;
	return place;
}

static __always_inline void watch(const struct sk_buff *skb, enum hook hook)
{
	const struct place *place = place_of(skb);
	bool written = hook == HOOK_ARRIVE && place && place->points[HOOK_WRITE] != NONE;
	bool due = hook == HOOK_TRANSMIT && place && place->points[HOOK_DUE] != NONE;
	__u64 identity, departure = 0, then_ns = 0;

	if (!place || (place->points[hook] == NONE && !written && !due))
		return;
	if (written)
		then_ns = written_ns();
	identity = identify(skb, &departure);
	if (identity == NOBODY || identity >> 32 > sampled_below)
		return;
	if (then_ns)
		stages_pass(identity, place->points[HOOK_WRITE], then_ns);
	if (due)
		stages_pass(identity, place->points[HOOK_DUE], due_ns(departure, bpf_ktime_get_ns()));
	if (place->points[hook] != NONE)
		stages_pass(identity, place->points[hook], bpf_ktime_get_ns());
}

static __always_inline struct cost *cost_of(enum hook hook)
{
	__u32 key = hook;

	return bpf_map_lookup_elem(&stages_costs, &key);
}

/* Does `work` for a hook, and takes the time of one run in TIMED_HITS. */
#define hit(hook, work)                                                                            \
	do {                                                                                       \
		struct cost *cost = cost_of(hook);                                                 \
		__u64 begun_ns = 0;                                                                \
                                                                                                   \
		if (!cost)                                                                         \
			return 0;                                                                  \
		if (cost->hits++ % TIMED_HITS == 0)                                                \
			begun_ns = bpf_ktime_get_ns();                                             \
		work;                                                                              \
		if (begun_ns) {                                                                    \
			cost->timed_ns += bpf_ktime_get_ns() - begun_ns;                           \
			cost->timed++;                                                             \
		}                                                                                  \
	} while (0)

#define WATCH(tracepoint, hook)                                                                    \
	SEC("tp_btf/" #tracepoint)                                                                 \
	int stages_##tracepoint(__u64 *context)                                                    \
	{                                                                                          \
		const struct sk_buff *skb = (void *)context[0];                                    \
                                                                                                   \
		hit(hook, watch(skb, hook));                                                       \
		return 0;                                                                          \
	}

WATCH(napi_gro_receive_entry, HOOK_ARRIVE)
WATCH(netif_rx_entry, HOOK_ARRIVE)
WATCH(netif_receive_skb_entry, HOOK_ARRIVE)
WATCH(netif_receive_skb, HOOK_RECEIVE)
WATCH(net_dev_queue, HOOK_QUEUE)
WATCH(net_dev_start_xmit, HOOK_TRANSMIT)
WATCH(skb_copy_datagram_iovec, HOOK_COPY)
WATCH(consume_skb, HOOK_FREE)
WATCH(kfree_skb, HOOK_DROP)

static __always_inline void remember_write(long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 *began_ns;

	if (number != write_calls[0] && number != write_calls[1])
		return;
	began_ns = bpf_task_storage_get(&stages_writers, task, 0, 0);
	if (began_ns)
		*began_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/sys_enter")
int stages_sys_enter(__u64 *context)
{
	hit(HOOK_WRITE, remember_write(context[1]));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
