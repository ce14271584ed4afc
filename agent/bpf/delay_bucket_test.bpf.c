// SPDX-License-Identifier: Apache-2.0
/* For the agent's tests: returns the bucket of the delay that the frame begins with. */
#include <linux/bpf.h>
#include "delay_bucket.h"

SEC("xdp")
int bucket_of(struct xdp_md *context)
{
	const __u64 *delay_ns = (void *)(long)context->data;

	if ((void *)(delay_ns + 1) > (void *)(long)context->data_end)
		return -1;
	return delay_bucket(*delay_ns);
}

char LICENSE[] SEC("license") = "Apache-2.0";
