/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delays of one lane's probes, and how they vary from one probe to the next (IPDV: RFC 5481, 4.1).
 *
 * Probes are numbered in the order they were sent. A pair is filed when the second of the two
 * arrives, whichever that is; of a pair that lost one there is none.
 */
#ifndef VTAX_VARIATION_H
#define VTAX_VARIATION_H

#include <linux/types.h>
#include "delay_bucket.h"

#define PROBES_KEPT 256

struct histogram {
	__u64 buckets[DELAY_BUCKETS];
};

struct histograms {
	struct histogram delay; /* since they were due */
	struct histogram since_departure;
	struct histogram lateness;
	struct histogram ipdv_positive; /* the later probe was slower, or as fast */
	struct histogram ipdv_negative; /* by how much it was faster */
	struct histogram gap;
};

struct probe {
	__u64 delay_ns;
	__u64 number_after; /* its number + 1 */
};

static __always_inline void file(struct histogram *histogram, __u64 duration_ns)
{
	__u32 bucket = delay_bucket(duration_ns);

	if (bucket < DELAY_BUCKETS) /* always; the verifier cannot see it */
		histogram->buckets[bucket]++;
}

static __always_inline void file_pair(struct histograms *histograms, __u64 earlier_ns, __u64 later_ns)
{
	if (later_ns < earlier_ns)
		file(&histograms->ipdv_negative, earlier_ns - later_ns);
	else
		file(&histograms->ipdv_positive, later_ns - earlier_ns);
}

/* Of every `interval` frames one is a probe, anywhere among them. */
static __always_inline void file_delay(struct histograms *histograms, struct probe *probes,
				       __u32 sequence, __u32 interval, __u64 delay_ns)
{
	__u32 number = sequence / interval;
	struct probe *here = &probes[number % PROBES_KEPT];
	const struct probe *before = &probes[(number - 1) % PROBES_KEPT];
	const struct probe *after = &probes[(number + 1) % PROBES_KEPT];

	file(&histograms->delay, delay_ns);
	if (here->number_after > number)
		return; /* too late to be paired */
	here->number_after = (__u64)number + 1;
	here->delay_ns = delay_ns;
	if (number && before->number_after == number)
		file_pair(histograms, before->delay_ns, delay_ns);
	if (after->number_after == (__u64)number + 2)
		file_pair(histograms, delay_ns, after->delay_ns);
}

#endif
