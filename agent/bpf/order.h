/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Duplicates, reordering (RFC 4737) and loss periods (RFC 3357) of one sequence of frames.
 *
 * A frame above the next expected sequence opens a gap: the sequences it skipped. A late frame
 * belongs into a gap, and the frame that opened it is the earliest that overtook it. So a search
 * through the gaps finds how far a late frame is displaced, and frames in order search nothing.
 */
#ifndef VTAX_ORDER_H
#define VTAX_ORDER_H

#include <stdbool.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define WINDOW_FRAMES 65536
#define GAPS_KEPT 1024
#define PRECEDING_KEPT 4
#define DISPLACED 3 /* RFC 4737, 5: TCP takes a frame that three others overtook for lost */

struct gap {
	__u32 first_skipped;
	__u32 position; /* how many frames had arrived when it was opened */
};

/* The frames of a strand are one, a stream's extra probes another. */
struct lane {
	__u64 received; /* without duplicates */
	__u64 bytes; /* of these */
	__u64 duplicated;
	__u64 reordered;
	__u64 displaced; /* of them, those that the last DISPLACED frames had all overtaken */
	__u64 extent_sum;
	__u64 extent_max;
	__u64 extents_cut; /* extents of GAPS_KEPT or more, taken as GAPS_KEPT */
	__u64 next_expected; /* RFC 4737: one above the highest sequence so far */
	__u64 gaps;
	__u64 longest_gap; /* when it was opened */
	__u64 loss_periods; /* gaps, or parts of gaps, that are still open */
	__u64 run_next; /* the sequence that would prolong the current run */
	__u64 run;
	__u64 longest_run;
	__u32 preceding[PRECEDING_KEPT]; /* the last sequences, by position */
};

struct lane_history {
	/* For each of the last WINDOW_FRAMES sequences: sequence + 1 where it arrived. */
	__u32 arrived[WINDOW_FRAMES];
	struct gap gaps[GAPS_KEPT];
};

/*
 * Whether this sequence arrived before; if not, remembers it. A frame overtaken by WINDOW_FRAMES
 * others can no longer be judged and counts as no duplicate.
 */
static __always_inline bool is_duplicate(__u32 *arrived, __u32 sequence)
{
	__u32 *slot = &arrived[sequence % WINDOW_FRAMES];

	if (*slot == sequence + 1)
		return true;
	if (*slot <= sequence)
		*slot = sequence + 1;
	return false;
}

static __always_inline bool has_arrived(const __u32 *arrived, __u32 sequence)
{
	return arrived[sequence % WINDOW_FRAMES] == sequence + 1;
}

static __always_inline void open_gap(struct lane *lane, struct gap *gaps, __u32 sequence)
{
	struct gap *gap = &gaps[lane->gaps % GAPS_KEPT];
	__u64 skipped = sequence - lane->next_expected;

	gap->first_skipped = lane->next_expected;
	gap->position = lane->received;
	lane->gaps++;
	lane->loss_periods++;
	if (skipped > lane->longest_gap)
		lane->longest_gap = skipped;
}

/* A late frame in the midst of a gap splits it, at its edge shortens it, and alone closes it. */
static __always_inline void fill_gap(struct lane *lane, const __u32 *arrived, __u32 sequence)
{
	if (!has_arrived(arrived, sequence))
		return; /* too late to be judged */

	bool before = !sequence || has_arrived(arrived, sequence - 1);
	bool after = has_arrived(arrived, sequence + 1);

	if (before && after)
		lane->loss_periods--;
	else if (!before && !after)
		lane->loss_periods++;
}

/* Without a branch: the verifier would follow both ways at every step of a search. */
static __always_inline __u32 is_less(__u64 left, __u64 right)
{
	__u64 difference = left - right;

	barrier_var(difference); /* or clang makes it a branch again */
	return difference >> 63;
}

/* RFC 4737, 4.2: a late frame's distance from the earliest that overtook it. */
static __always_inline void count_extent(struct lane *lane, const struct gap *gaps, __u32 sequence)
{
	__u32 kept = lane->gaps < GAPS_KEPT ? lane->gaps : GAPS_KEPT;
	__u32 oldest = lane->gaps - kept;
	__u32 found = 0;
	__u64 extent = GAPS_KEPT;

	if (kept && gaps[oldest % GAPS_KEPT].first_skipped <= sequence) {
		for (__u32 step = GAPS_KEPT / 2; step; step /= 2) {
			const struct gap *gap = &gaps[(oldest + found + step) % GAPS_KEPT];

			found += step * (is_less(found + step, kept) &
					 !is_less(sequence, gap->first_skipped));
		}
		extent = (__u32)lane->received - gaps[(oldest + found) % GAPS_KEPT].position;
	} else {
		lane->extents_cut++; /* each later gap was opened by another frame */
	}
	lane->extent_sum += extent;
	if (extent > lane->extent_max)
		lane->extent_max = extent;
}

static __always_inline bool is_displaced(const struct lane *lane, __u32 sequence)
{
	if (lane->received < DISPLACED)
		return false;
	for (__u32 back = 1; back <= DISPLACED; back++)
		if (lane->preceding[(lane->received - back) % PRECEDING_KEPT] < sequence)
			return false;
	return true;
}

/* To be called for a frame that is no duplicate, after is_duplicate remembered it. */
static __always_inline void count_arrival(struct lane *lane, struct lane_history *history,
					  __u32 sequence, __u32 frame_bytes)
{
	if (sequence < lane->next_expected) {
		lane->reordered++;
		lane->displaced += is_displaced(lane, sequence);
		count_extent(lane, history->gaps, sequence);
		fill_gap(lane, history->arrived, sequence);
	} else {
		if (sequence > lane->next_expected)
			open_gap(lane, history->gaps, sequence);
		lane->next_expected = (__u64)sequence + 1;
	}
	lane->preceding[lane->received % PRECEDING_KEPT] = sequence;
	lane->received++;
	lane->bytes += frame_bytes;

	lane->run = sequence == lane->run_next ? lane->run + 1 : 1;
	lane->run_next = (__u64)sequence + 1;
	if (lane->run > lane->longest_run)
		lane->longest_run = lane->run;
}

#endif
