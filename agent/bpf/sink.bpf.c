// SPDX-License-Identifier: Apache-2.0
/*
 * The sink of one stream: checks, counts and drops its test frames, and passes everything else.
 *
 * One body serves XDP (native and generic) and tc ingress. Where two CPUs may deliver to the
 * interface at once, it holds the state's lock. That costs as much as the counting itself, so the
 * agent leaves it out where the kernel serialises delivery.
 */
#include <stdbool.h>
#include <linux/pkt_cls.h>
#include "delay_bucket.h"
#include "frame.h"

#define WINDOW_FRAMES 65536
#define MOST_LENGTHS 7

/* Sequence state of the analysed phase. A stream's frames and its extra probes are two lanes. */
struct lane {
	__u64 received; /* without duplicates */
	__u64 bytes; /* of these */
	__u64 duplicated;
	__u64 reordered;
	__u64 next_expected; /* RFC 4737: one above the highest sequence so far */
	__u64 run_next; /* the sequence that would prolong the current run */
	__u64 run;
	__u64 longest_run;
};

enum { LANE_MAIN, LANE_EXTRA, LANES };

struct state {
	struct bpf_spin_lock lock;
	__u32 trial;
	__u32 frame_bytes[MOST_LENGTHS]; /* a frame has one of these */
	__u16 analysed_phase; /* PHASE_NONE: not armed, every test frame is of another trial */
	__u16 stream;
	__u64 frames[PHASES]; /* the main lane's, duplicates included */
	struct lane lanes[LANES];
	__u64 first_ns; /* of the main lane */
	__u64 last_ns;
	__u64 refused_length;
	__u64 refused_trial;
	__u64 refused_stream;
	__u64 foreign;
};

/* For each of a lane's last WINDOW_FRAMES sequences: sequence + 1 where it arrived. */
struct lane_window {
	__u32 arrived[WINDOW_FRAMES];
};

struct window {
	struct lane_window lanes[LANES];
};

struct histogram {
	__u64 buckets[DELAY_BUCKETS];
};

const volatile __u8 serialised; /* set before loading */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} sink_state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct window);
} sink_window SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct histogram);
} sink_delays SEC(".maps");

static __always_inline void lock(struct state *state)
{
	if (!serialised)
		bpf_spin_lock(&state->lock);
}

static __always_inline void unlock(struct state *state)
{
	if (!serialised)
		bpf_spin_unlock(&state->lock);
}

static __always_inline bool is_armed_length(const struct state *state, __u32 frame_bytes)
{
	for (int i = 0; i < MOST_LENGTHS; i++)
		if (frame_bytes == state->frame_bytes[i])
			return true;
	return false;
}

static __always_inline void count_arrival(struct lane *lane, __u32 sequence, __u32 frame_bytes)
{
	lane->received++;
	lane->bytes += frame_bytes;
	if (sequence < lane->next_expected)
		lane->reordered++;
	else
		lane->next_expected = (__u64)sequence + 1;

	lane->run = sequence == lane->run_next ? lane->run + 1 : 1;
	lane->run_next = (__u64)sequence + 1;
	if (lane->run > lane->longest_run)
		lane->longest_run = lane->run;
}

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

static __always_inline void count_phase(struct state *state, const struct test_frame *frame)
{
	__u32 phase = frame_phase(frame);

	barrier_var(phase); /* clang knows that parsing checked the phase, the verifier does not */
	if (phase < PHASES)
		state->frames[phase]++;
}

static __always_inline void analyse(struct state *state, struct window *window,
				    struct histogram *delays, const struct test_frame *frame,
				    __u32 frame_bytes, __u64 now_ns)
{
	bool extra = frame->stream & STREAM_FLAG_EXTRA_LANE;
	struct lane *lane = &state->lanes[extra];
	__u32 sequence = bpf_ntohl(frame->sequence);

	if (!extra) {
		if (!state->first_ns)
			state->first_ns = now_ns;
		state->last_ns = now_ns;
	}
	if (is_duplicate(window->lanes[extra].arrived, sequence)) {
		lane->duplicated++;
		return;
	}
	count_arrival(lane, sequence, frame_bytes);

	if (extra || frame->phase & PHASE_FLAG_PROBE || frame_phase(frame) == PHASE_PROBE) {
		__s64 delay_ns = now_ns - bpf_be64_to_cpu(frame->time_ns);
		__u32 bucket = delay_bucket(delay_ns < 0 ? 0 : delay_ns);

		if (bucket < DELAY_BUCKETS) /* always; the verifier cannot see it */
			delays->buckets[bucket]++;
	}
}

/*
 * Whether the frame is a test frame and has to be dropped. `frame_bytes` is 0 for a super-packet of
 * several frames.
 */
static __always_inline bool sink_frame(const struct test_frame *frame, __u32 frame_bytes)
{
	__u32 zero = 0;
	struct state *state = bpf_map_lookup_elem(&sink_state, &zero);
	struct window *window = bpf_map_lookup_elem(&sink_window, &zero);
	struct histogram *delays = bpf_map_lookup_elem(&sink_delays, &zero);

	if (!state || !window || !delays)
		return false;
	if (!frame) {
		lock(state);
		state->foreign++;
		unlock(state);
		return false;
	}

	__u64 now_ns = bpf_ktime_get_ns();

	lock(state);
	if (state->analysed_phase == PHASE_NONE || bpf_ntohl(frame->trial) != state->trial) {
		state->refused_trial++;
	} else if ((frame->stream & ~STREAM_FLAG_EXTRA_LANE) != state->stream) {
		state->refused_stream++;
	} else if (!is_armed_length(state, frame_bytes)) {
		state->refused_length++;
	} else {
		if (!(frame->stream & STREAM_FLAG_EXTRA_LANE))
			count_phase(state, frame);
		if (frame_phase(frame) == state->analysed_phase)
			analyse(state, window, delays, frame, frame_bytes, now_ns);
	}
	unlock(state);
	return true;
}

SEC("xdp")
int sink_xdp(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;

	return sink_frame(parse_test_frame(data, end), end - data) ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int sink_tc(struct __sk_buff *skb)
{
	const struct test_frame *frame = parse_test_skb(skb);

	return sink_frame(frame, skb->gso_segs > 1 ? 0 : frame_bytes_of(skb)) ? TC_ACT_SHOT : TC_ACT_OK;
}

/*
 * Never attached: BPF_PROG_TEST_RUN repeats it over one frame to learn what a frame costs. It
 * numbers the frame anew on each run, since a repeated sequence would take the shorter way of a
 * duplicate.
 */
SEC("xdp")
int sink_cost(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	struct test_frame *frame = parse_test_frame(data, end);

	if (!frame)
		return XDP_ABORTED;
	frame->sequence = bpf_htonl(bpf_ntohl(frame->sequence) + 1);
	return sink_frame(frame, end - data) ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
