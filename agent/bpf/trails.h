/* SPDX-License-Identifier: Apache-2.0 */
/* The ways that frames go, and what is filed when one has gone the whole of it. */
#ifndef VTAX_TRAILS_H
#define VTAX_TRAILS_H

#include "bounds.h"
#include "delay_bucket.h"
#include "followed.h"

struct trail {
	__u32 points;
	__u32 first_filed; /* entry of stages_filed: its total, and its stages behind it */
	__u8 point[MOST_TRAIL_POINTS];
};

struct filed {
	__u64 sum_ns;
	__u64 buckets[DELAY_BUCKETS];
};

struct packet {
	__u64 identity;
	__u32 trail;
	__u32 complete; /* 1: all of it is written */
	__u64 at_ns[MOST_TRAIL_POINTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct filed);
} stages_filed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct packet);
} stages_packets SEC(".maps");

/* Set before loading. */
const volatile struct trail trails[MOST_TRAILS];
const volatile __u32 kept_packets;

static __always_inline void file(__u32 entry, __u64 delay_ns)
{
	struct filed *filed = bpf_map_lookup_elem(&stages_filed, &entry);
	__u32 bucket = delay_bucket(delay_ns);

	if (!filed || bucket >= DELAY_BUCKETS)
		return;
	__sync_fetch_and_add(&filed->sum_ns, delay_ns);
	__sync_fetch_and_add(&filed->buckets[bucket], 1);
}

static __always_inline void keep(const struct mark *mark, __u32 number, const volatile struct trail *trail,
				 struct tally *tally)
{
	__u32 place;
	struct packet *packet;

	if (tally->kept >= kept_packets)
		return;
	place = __sync_fetch_and_add(&tally->kept, 1);
	packet = bpf_map_lookup_elem(&stages_packets, &place);
	if (!packet)
		return;
	packet->identity = mark->identity;
	packet->trail = number;
	for (__u32 at = 0; at < MOST_TRAIL_POINTS; at++) {
		if (at < trail->points)
			packet->at_ns[at] = mark->at_ns[trail->point[at] % MOST_POINTS];
	}
	packet->complete = 1;
}

/*
 * Files the stages of a trail whose last point the frame has passed, if it has passed the others. Not static: so the
 * verifier takes it by itself, and not once for every way to a call.
 */
__noinline int stages_attribute(__u32 place, __u32 number)
{
	const volatile struct trail *trail = &trails[number % MOST_TRAILS];
	__u32 only = 0, entry = trail->first_filed, count = trail->points;
	struct mark *mark = bpf_map_lookup_elem(&stages_marks, &place);
	struct tally *tally = bpf_map_lookup_elem(&stages_tally, &only);
	__u64 first_ns, last_ns = 0;

	if (!mark || !tally)
		return 0;
	for (__u32 at = 0; at < MOST_TRAIL_POINTS; at++) {
		if (at >= count)
			break;

		__u32 point = trail->point[at] % MOST_POINTS;

		if (!(mark->passed >> point & 1) || mark->at_ns[point] < last_ns)
			return 0;
		last_ns = mark->at_ns[point];
	}
	first_ns = mark->at_ns[trail->point[0] % MOST_POINTS];
	file(entry, last_ns - first_ns);
	for (__u32 at = 1; at < MOST_TRAIL_POINTS; at++) {
		if (at >= count)
			break;
		last_ns = mark->at_ns[trail->point[at] % MOST_POINTS];
		file(entry + at, last_ns - first_ns);
		first_ns = last_ns;
	}
	if (!mark->attributed)
		__sync_fetch_and_add(&tally->attributed, 1);
	mark->attributed = 1;
	keep(mark, number, trail, tally);
	return 0;
}

#endif
