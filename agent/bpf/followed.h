/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames that are followed, and when each passed which point.
 *
 * A frame may have one of two places in the table, which its identity tells. One that begins takes the second where the first
 * is in use, and the second from whoever has it.
 */
#ifndef VTAX_FOLLOWED_H
#define VTAX_FOLLOWED_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include "bounds.h"
#include "identity.h"

#define GIVEN_UP_NS 1000000000 /* so long after its last point a frame is not waited for any more */

_Static_assert(MOST_POINTS <= 64, "`passed` has a bit for each point");

struct mark {
	__u64 identity;
	__u64 passed; /* a bit a point */
	__u64 begun_ns; /* CLOCK_MONOTONIC, as are all times */
	__u64 last_ns;
	__u32 attributed; /* 1: it has gone a whole trail */
	__u32 shared; /* 1: two frames at once had this identity */
	__u64 at_ns[MOST_POINTS];
};

/* First points are passed from `start_ns` on and before `end_ns`. */
struct window {
	__u64 start_ns;
	__u64 end_ns;
};

struct tally {
	__u64 followed;
	__u64 attributed;
	__u64 lost_events; /* whose place another took while they may still have been under way */
	__u64 kept; /* packets */
	__u64 passed[MOST_POINTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading: a power of two */
	__type(key, __u32);
	__type(value, struct mark);
} stages_marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct window);
} stages_window SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} stages_tally SEC(".maps");

const volatile __u32 last_mark; /* set before loading */

static __always_inline bool is_under_way(const struct mark *mark, const struct window *window, __u64 now_ns)
{
	return mark->begun_ns >= window->start_ns && mark->begun_ns < window->end_ns &&
	       (__s64)(now_ns - mark->last_ns) < GIVEN_UP_NS;
}

static __always_inline void begin(struct mark *mark, __u64 identity, __u64 now_ns)
{
	mark->identity = NOBODY;
	mark->passed = 0;
	mark->begun_ns = now_ns;
	mark->last_ns = now_ns;
	mark->attributed = 0;
	mark->shared = 0;
	mark->identity = identity;
}

/* The place that a frame has in the table, or is to have. */
static __always_inline __u32 place_in_table(__u64 identity, __u64 now_ns)
{
	__u32 first = identity & last_mark, second = identity >> 16 & last_mark, only = 0;
	const struct window *window = bpf_map_lookup_elem(&stages_window, &only);
	const struct mark *at_first = bpf_map_lookup_elem(&stages_marks, &first);
	const struct mark *at_second;

	if (!window || !at_first || at_first->identity == identity)
		return first;
	at_second = bpf_map_lookup_elem(&stages_marks, &second);
	if (at_second && at_second->identity == identity)
		return second;
	return is_under_way(at_first, window, now_ns) && !at_first->attributed ? second : first;
}

/* Whether a frame that is followed passes the point for the first time. */
static __always_inline bool pass(__u64 identity, __u32 place, __u32 point, bool is_first, __u64 now_ns)
{
	__u32 only = 0;
	const struct window *window = bpf_map_lookup_elem(&stages_window, &only);
	struct mark *mark = bpf_map_lookup_elem(&stages_marks, &place);
	struct tally *tally = bpf_map_lookup_elem(&stages_tally, &only);
	__u64 bit = 1ULL << (point % MOST_POINTS);

	if (!window || !mark || !tally)
		return false;

	bool under_way = is_under_way(mark, window, now_ns), same = mark->identity == identity;

	if (!under_way || !same || (is_first && mark->attributed && mark->passed & bit)) {
		if (!is_first || now_ns < window->start_ns || now_ns >= window->end_ns)
			return false;
		if (under_way && !mark->attributed)
			__sync_fetch_and_add(&tally->lost_events, 1 + mark->shared);
		__sync_fetch_and_add(&tally->followed, 1);
		begin(mark, identity, now_ns);
	} else if (mark->passed & bit) {
		/* A driver that was busy is given the frame again; at a first point it is another frame. */
		if (is_first) {
			__sync_fetch_and_add(&tally->followed, 1);
			mark->shared = 1;
		}
		return false;
	}
	if (mark->shared)
		return false;
	if (now_ns < mark->last_ns)
		now_ns = mark->last_ns;
	mark->at_ns[point % MOST_POINTS] = now_ns;
	mark->last_ns = now_ns;
	__sync_fetch_and_or(&mark->passed, bit);
	__sync_fetch_and_add(&tally->passed[point % MOST_POINTS], 1);
	return true;
}

#endif
