// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to UDP frames where they leave the unit under test: of 10,000, LOST are dropped, TWICE are sent twice
 * and LATE make a detour that others may overtake them on. Shorter frames than those of the load are spared: iperf3
 * waits for ever for the first datagram, by which its ends meet. `plant` is at the egress of the UUT's last interface,
 * `rejoin` where the detour ends; both use the frame's mark to know what they have handled before. What happened to the
 * measured frames of each of vtax's trials is counted: that is the truth. A frame that comes back from its detour is
 * late if a later one left before it, as RFC 4737 has it: of those that the source sent last, none may have.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PROTOCOL_AT 23 /* of IPv4, in an Ethernet frame */
#define UDP 17
#define TEST_FIELDS_AT 42 /* behind the headers of Ethernet, IPv4 and UDP */
#define MAGIC 0x76746178 /* "vtax" */
#define MEASURE 3
#define PHASE_BITS 0x7f /* the other one flags a probe */
#define PROBES_LANE 0x80 /* of the stream's number: a flood's probes have sequence numbers of their own */
#define TRIALS 64

enum mark { NEW, HANDLED, FILLER };

struct test_fields {
	__be32 magic;
	__be32 trial;
	__u8 phase;
	__u8 stream;
	__be32 sequence;
} __attribute__((packed));

struct counts {
	__u64 lost;
	__u64 twice;
	__u64 late;
	__u64 next_sequence; /* one more than the latest that left */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRIALS);
	__type(key, __u32); /* the trial's number */
	__type(value, struct counts);
} counted SEC(".maps");

/* Counts what happens to a measured frame; one that `leaves` is late where a later one left before it. */
static __always_inline void count(struct __sk_buff *frame, struct counts add, int leaves)
{
	struct test_fields fields = {};
	struct counts *sum, none = {};
	__u64 sequence;

	if (bpf_skb_load_bytes(frame, TEST_FIELDS_AT, &fields, sizeof(fields)) || fields.magic != bpf_htonl(MAGIC) ||
	    (fields.phase & PHASE_BITS) != MEASURE)
		return;

	__u32 trial = bpf_ntohl(fields.trial);

	bpf_map_update_elem(&counted, &trial, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&counted, &trial);
	if (!sum)
		return;
	__sync_fetch_and_add(&sum->lost, add.lost);
	__sync_fetch_and_add(&sum->twice, add.twice);
	if (!leaves || fields.stream & PROBES_LANE)
		return;
	sequence = bpf_ntohl(fields.sequence);
	if (sequence + 1 < sum->next_sequence)
		__sync_fetch_and_add(&sum->late, 1);
	else
		sum->next_sequence = sequence + 1;
}

SEC("plant")
int leave(struct __sk_buff *frame)
{
	unsigned char protocol = 0;
	unsigned int lot = bpf_get_prandom_u32() % 10000;

	if (frame->mark == HANDLED) { /* it comes here again, from its detour or as the second of two */
		count(frame, (struct counts){}, 1);
		return TC_ACT_OK;
	}
	if (frame->mark != NEW || frame->len < FRAME_BYTES || bpf_skb_load_bytes(frame, PROTOCOL_AT, &protocol, 1) ||
	    protocol != UDP)
		return TC_ACT_OK;
	if (lot < LOST) {
		count(frame, (struct counts){.lost = 1}, 0);
		return TC_ACT_SHOT;
	}
	if (lot < LOST + TWICE) {
		count(frame, (struct counts){.twice = 1}, 1);
		frame->mark = HANDLED;
		bpf_clone_redirect(frame, frame->ifindex, 0);
		return TC_ACT_OK;
	}
	if (lot < LOST + TWICE + LATE) {
		/* The detour's bucket holds one frame: a filler takes it, so that this one has to wait. */
		frame->mark = FILLER;
		bpf_clone_redirect(frame, DETOUR, 0);
		frame->mark = HANDLED;
		return bpf_redirect(DETOUR, 0);
	}
	count(frame, (struct counts){}, 1);
	return TC_ACT_OK;
}

SEC("rejoin")
int return_from_detour(struct __sk_buff *frame)
{
	return frame->mark == HANDLED ? bpf_redirect(LEAVE, 0) : TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "GPL";
