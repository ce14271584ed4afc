/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-linear filing of delays: exactly below 256 ns, then 128 buckets to each power of two, up to
 * 2^36 ns (69 s). The agent's histogram.rs inverts it; layout.rs has the numbers.
 */
#ifndef VTAX_DELAY_BUCKET_H
#define VTAX_DELAY_BUCKET_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "layout.h"

#define SUB_BUCKETS (1 << SUB_BUCKET_BITS)
#define DELAY_BUCKETS ((DELAY_BITS - SUB_BUCKET_BITS + 1) * SUB_BUCKETS)

/* Without a branch, which the verifier would follow both ways at every step. */
static __always_inline __u32 floor_log2(__u64 value)
{
	__u32 log = 0;

	for (__u32 step = 32; step; step /= 2) {
		__u64 above = value >> step;
		__u64 any = above | -above;

		barrier_var(any); /* or clang makes it a branch again */

		__u32 shift = (any >> 63) * step;

		value >>= shift;
		log += shift;
	}
	return log;
}

/* Longer delays go to the last bucket. */
static __always_inline __u32 delay_bucket(__u64 delay_ns)
{
	if (delay_ns >> DELAY_BITS)
		return DELAY_BUCKETS - 1;
	if (delay_ns < SUB_BUCKETS)
		return delay_ns;

	__u32 shift = floor_log2(delay_ns) - SUB_BUCKET_BITS;

	return shift * SUB_BUCKETS + (delay_ns >> shift);
}

#endif
