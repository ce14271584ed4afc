/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own types, as far as tracing programs read them; the loader finds where their fields lie. */
#ifndef VTAX_KERNEL_H
#define VTAX_KERNEL_H

#include <linux/types.h>

struct ns_common {
	__u32 inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
	char name[16];
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
	unsigned char *head;
	__u32 end;
	__u16 network_header;
	__u16 mac_header;
	int skb_iif;
} __attribute__((preserve_access_index));

struct skb_shared_info {
	__u16 gso_segs;
} __attribute__((preserve_access_index));

#endif
