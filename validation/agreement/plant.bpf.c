// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to UDP frames where they leave the unit under test: of 10,000, LOST are dropped, TWICE are sent twice
 * and LATE make a detour that others overtake them on. Shorter frames than those of the load are spared: iperf3 waits
 * for ever for the first datagram, by which its ends meet. `plant` is at the egress of the UUT's last interface, `rejoin`
 * where the detour ends; both use the frame's mark to know what they have handled before.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define SECTION(name) __attribute__((section(name), used))
#define PROTOCOL_AT 23 /* of IPv4, in an Ethernet frame */
#define UDP 17

enum mark { NEW, HANDLED, FILLER };

static unsigned int (*const random_u32)(void) = (void *)BPF_FUNC_get_prandom_u32;
static long (*const clone_redirect)(struct __sk_buff *, unsigned int, unsigned long) = (void *)BPF_FUNC_clone_redirect;
static long (*const redirect)(unsigned int, unsigned long) = (void *)BPF_FUNC_redirect;
static long (*const load)(const struct __sk_buff *, unsigned int, void *, unsigned int) =
	(void *)BPF_FUNC_skb_load_bytes;

SECTION("plant") int leave(struct __sk_buff *frame)
{
	unsigned char protocol = 0;
	unsigned int lot = random_u32() % 10000;

	if (frame->mark != NEW || frame->len < FRAME_BYTES || load(frame, PROTOCOL_AT, &protocol, 1) || protocol != UDP)
		return TC_ACT_OK;
	if (lot < LOST)
		return TC_ACT_SHOT;
	if (lot < LOST + TWICE) {
		frame->mark = HANDLED;
		clone_redirect(frame, frame->ifindex, 0);
		return TC_ACT_OK;
	}
	if (lot < LOST + TWICE + LATE) {
		/* The detour's bucket holds one frame: a filler takes it, so that this one has to wait. */
		frame->mark = FILLER;
		clone_redirect(frame, DETOUR, 0);
		frame->mark = HANDLED;
		return redirect(DETOUR, 0);
	}
	return TC_ACT_OK;
}

SECTION("rejoin") int return_from_detour(struct __sk_buff *frame)
{
	return frame->mark == HANDLED ? redirect(LEAVE, 0) : TC_ACT_SHOT;
}

char licence[] SECTION("license") = "GPL";
