// SPDX-License-Identifier: Apache-2.0
/*
 * Where a link ends: every measured test frame is counted and dropped. What may have crossed the link by then is checked
 * by the frames' own times of departure: a bucket leaks at the link's rate, and its highest level is the most that any
 * time had beyond that rate. Probes pass the source's bucket by. One queue, so that frames come in the order in which
 * they left.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TEST_FIELDS_AT 42 /* behind the headers of Ethernet, IPv4 and UDP */
#define MAGIC 0x76746178 /* "vtax" */
#define MEASURE 3
#define PHASE_BITS 0x7f /* the other one flags a probe */
#define PROBES_LANE 0x80 /* of the stream's number */
#define LATE_BITS 16 /* behind the time of departure */
#define OVERHEAD_BYTES 24
#define WINDOW 65536

struct test_fields {
	__be32 magic;
	__be32 trial;
	__u8 phase;
	__u8 stream;
	__be32 sequence;
	__be64 departure;
} __attribute__((packed));

struct crossing {
	__u64 frames; /* those of the flood */
	__u64 probes;
	__u64 twice; /* again, */
	__u64 late; /* or after a later one */
	__u64 next_sequence;
	__u64 departed_ns; /* the latest */
	__u64 level_ps; /* of the link's time */
	__u64 highest_ps;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct crossing);
} crossed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WINDOW);
	__type(key, __u32);
	__type(value, __u32); /* one above the last sequence that came to this place */
} window SEC(".maps");

static __always_inline void cross(struct crossing *link, __u64 departed_ns, __u64 frame_bytes)
{
	__u64 since_ps = departed_ns > link->departed_ns ? (departed_ns - link->departed_ns) * 1000 : 0;

	link->level_ps = link->level_ps > since_ps ? link->level_ps - since_ps : 0;
	link->level_ps += (frame_bytes + OVERHEAD_BYTES) * BYTE_PS;
	if (link->level_ps > link->highest_ps)
		link->highest_ps = link->level_ps;
	if (departed_ns > link->departed_ns)
		link->departed_ns = departed_ns;
}

static __always_inline void order(struct crossing *link, __u32 sequence)
{
	__u32 place = sequence % WINDOW;
	__u32 *arrived = bpf_map_lookup_elem(&window, &place);

	if (!arrived)
		return;
	if (*arrived == sequence + 1)
		link->twice++;
	else if (sequence < link->next_sequence)
		link->late++;
	*arrived = sequence + 1;
	if (sequence >= link->next_sequence)
		link->next_sequence = (__u64)sequence + 1;
}

SEC("tc")
int end_of_link(struct __sk_buff *frame)
{
	struct test_fields fields = {};
	__u32 zero = 0;
	struct crossing *link = bpf_map_lookup_elem(&crossed, &zero);

	if (!link || bpf_skb_load_bytes(frame, TEST_FIELDS_AT, &fields, sizeof(fields)) ||
	    fields.magic != bpf_htonl(MAGIC))
		return TC_ACT_OK;
	if ((fields.phase & PHASE_BITS) != MEASURE)
		return TC_ACT_SHOT;

	if (fields.stream & PROBES_LANE) {
		link->probes++;
		return TC_ACT_SHOT;
	}
	link->frames++;
	cross(link, bpf_be64_to_cpu(fields.departure) >> LATE_BITS, frame->len);
	order(link, bpf_ntohl(fields.sequence));
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Apache-2.0";
