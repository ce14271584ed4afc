/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a frame left its source and how late, as frame/departure.rs writes it: 48 bits of CLOCK_MONOTONIC in ns, 16 of
 * lateness.
 */
#ifndef VTAX_DEPARTURE_H
#define VTAX_DEPARTURE_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "layout.h"

/* How long before `now_ns` a frame departed, by the clock that it departed by: of its bits the first 16 are missing. */
static __always_inline __s64 since_departure_ns(__u64 departure, __u64 now_ns)
{
	__u64 departed = departure >> LATE_BITS << LATE_BITS;

	return (__s64)((now_ns << LATE_BITS) - departed) >> LATE_BITS;
}

/* How long a frame was due before it departed: a floating-point number without sign. */
static __always_inline __u64 late_ns(__u64 departure)
{
	__u64 told = departure & ((1 << LATE_BITS) - 1);
	__u64 exponent = told >> LATE_MANTISSA_BITS;

	if (!exponent)
		return told;
	exponent--;
	return (told - (exponent << LATE_MANTISSA_BITS)) << exponent;
}

/* When a frame was due that departed by this machine's clock. */
static __always_inline __u64 due_ns(__u64 departure, __u64 now_ns)
{
	return now_ns - since_departure_ns(departure, now_ns) - late_ns(departure);
}

#endif
