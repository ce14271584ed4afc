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
#include "bounds.h"
#include "capture.h"
#include "frame.h"
#include "order.h"
#include "variation.h"

/* Each strand of the stream has a lane; so have the extra probes, which are the last. */
enum { LANE_EXTRA = MOST_STRANDS, LANES };

struct state {
	struct bpf_spin_lock lock;
	__u32 trial;
	__u32 frame_bytes[MOST_LENGTHS]; /* a frame has one of these */
	__u16 analysed_phase; /* PHASE_NONE: not armed, every test frame is of another trial */
	__u16 stream;
	__u32 strand_mask; /* one less than there are strands: of n each has every n-th frame */
	__u32 strand_bits; /* how many bits of a sequence tell the strand */
	__u32 probe_interval; /* one frame of a strand in so many gives a delay */
	__u32 captured;
	__u32 gaps; /* whether each frame's time is taken: reading the clock costs more than counting */
	__s64 clock_ahead_ns; /* of this clock against the source's */
	__u64 frames[PHASES]; /* the main lane's, duplicates included */
	struct lane lanes[LANES]; /* sequence state of the analysed phase */
	__u64 first_ns; /* of the main lane */
	__u64 last_ns;
	__u64 refused_length;
	__u64 refused_trial;
	__u64 refused_stream;
	__u64 foreign;
};

/* What only grows or is searched; kept apart from the state, which is read often. */
struct memory {
	struct lane_history history;
	struct probe probes[PROBES_KEPT];
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
	__uint(max_entries, LANES);
	__type(key, __u32);
	__type(value, struct memory);
} sink_memory SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct histograms);
} sink_histograms SEC(".maps");

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

static __always_inline void count_phase(struct state *state, const struct test_frame *frame)
{
	__u32 phase = frame_phase(frame);

	barrier_var(phase); /* clang knows that parsing checked the phase, the verifier does not */
	if (phase < PHASES)
		state->frames[phase]++;
}

static __always_inline void count_time(struct state *state, struct histogram *gaps, __u64 now_ns)
{
	if (!state->first_ns)
		state->first_ns = now_ns;
	else /* another CPU may have been faster from its clock to the lock */
		file(gaps, now_ns > state->last_ns ? now_ns - state->last_ns : 0);
	state->last_ns = now_ns;
}

/* Whether delay is taken from the frame. */
static __always_inline bool is_probe(const struct test_frame *frame)
{
	return frame->stream & STREAM_FLAG_EXTRA_LANE || frame->phase & PHASE_FLAG_PROBE ||
	       frame_phase(frame) == PHASE_PROBE;
}

/* Whose sequence a frame is part of. */
static __always_inline __u32 lane_of(const struct state *state, const struct test_frame *frame)
{
	if (frame->stream & STREAM_FLAG_EXTRA_LANE)
		return LANE_EXTRA;
	return bpf_ntohl(frame->sequence) & state->strand_mask & (MOST_STRANDS - 1);
}

static __always_inline void analyse(struct state *state, __u32 lane_number, struct memory *memory,
				    struct histograms *histograms, const struct test_frame *frame,
				    __u32 frame_bytes, __u64 now_ns)
{
	bool extra = lane_number == LANE_EXTRA;
	struct lane *lane = &state->lanes[lane_number];
	__u32 sequence = bpf_ntohl(frame->sequence) >> (extra ? 0 : state->strand_bits);

	if (!extra && state->gaps)
		count_time(state, &histograms->gap, now_ns);
	if (is_duplicate(memory->history.arrived, sequence)) {
		lane->duplicated++;
		return;
	}
	count_arrival(lane, &memory->history, sequence, frame_bytes);

	if (is_probe(frame)) {
		__u64 departure = bpf_be64_to_cpu(frame->departure);
		__s64 late = late_ns(departure);
		__s64 delay_ns = since_departure_ns(departure, now_ns - state->clock_ahead_ns);

		file(&histograms->since_departure, delay_ns < 0 ? 0 : delay_ns);
		file(&histograms->lateness, late);
		delay_ns += late;
		file_delay(histograms, memory->probes, sequence, extra ? 1 : state->probe_interval,
			   delay_ns < 0 ? 0 : delay_ns);
	}
}

/* When a frame came, and its place among the captured ones. */
struct arrival {
	__u64 now_ns; /* 0 where nothing needs it */
	__u32 place;
};

/* The place among the captured frames of one that came; not of an unarmed sink. */
static __always_inline __u32 next_place(struct state *state)
{
	if (state->captured >= capture_frames || state->analysed_phase == PHASE_NONE)
		return NOT_CAPTURED;
	return state->captured++;
}

/*
 * Whether the frame is a test frame and has to be dropped. `frame_bytes` is 0 for a super-packet of
 * several frames. All frames are captured but those of other phases.
 */
static __always_inline bool sink_frame(const struct test_frame *frame, __u32 frame_bytes,
				       struct arrival *arrival)
{
	__u32 zero = 0, lane = 0;
	struct state *state = bpf_map_lookup_elem(&sink_state, &zero);
	struct histograms *histograms = bpf_map_lookup_elem(&sink_histograms, &zero);
	struct memory *memory;
	bool other_phase = false;

	if (!state || !histograms)
		return false;
	if (frame)
		lane = lane_of(state, frame);
	memory = bpf_map_lookup_elem(&sink_memory, &lane);
	if (!memory || lane >= LANES)
		return false;

	/* Before the lock, which lets no helper be called. */
	if (capture_frames || state->gaps || (frame && is_probe(frame)))
		arrival->now_ns = bpf_ktime_get_ns();

	lock(state);
	if (!frame) {
		state->foreign++;
	} else if (state->analysed_phase == PHASE_NONE || bpf_ntohl(frame->trial) != state->trial) {
		state->refused_trial++;
	} else if ((frame->stream & ~STREAM_FLAG_EXTRA_LANE) != state->stream) {
		state->refused_stream++;
	} else if (!is_armed_length(state, frame_bytes)) {
		state->refused_length++;
	} else {
		if (!(frame->stream & STREAM_FLAG_EXTRA_LANE))
			count_phase(state, frame);
		other_phase = frame_phase(frame) != state->analysed_phase;
		if (!other_phase)
			analyse(state, lane, memory, histograms, frame, frame_bytes,
				arrival->now_ns);
	}
	if (capture_frames && !other_phase)
		arrival->place = next_place(state);
	unlock(state);
	return frame;
}

SEC("xdp")
int sink_xdp(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	struct arrival arrival = {.place = NOT_CAPTURED};
	struct test_frame told;
	const struct test_frame *frame = parse_test_frame(data, end, &told);
	bool taken = sink_frame(frame, end - data, &arrival);

	capture(context, load_xdp, arrival.place, end - data, arrival.now_ns);
	return taken ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int sink_tc(struct __sk_buff *skb)
{
	struct test_frame told;
	const struct test_frame *frame = parse_test_skb(skb, &told);
	__u32 frame_bytes = frame_bytes_of(skb);
	struct arrival arrival = {.place = NOT_CAPTURED};
	bool taken = sink_frame(frame, skb->gso_segs > 1 ? 0 : frame_bytes, &arrival);

	capture(skb, load_skb, arrival.place, frame_bytes, arrival.now_ns);
	return taken ? TC_ACT_SHOT : TC_ACT_OK;
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
	struct test_frame told;
	struct test_frame *frame = parse_test_frame(data, end, &told);
	struct arrival arrival = {};

	if (!frame)
		return XDP_ABORTED;
	frame->sequence = bpf_htonl(bpf_ntohl(frame->sequence) + 1);
	return sink_frame(frame, end - data, &arrival) ? XDP_DROP : XDP_PASS;
}

/* Never attached either: what sink_cost is compared with. */
SEC("xdp")
int sink_bare(struct xdp_md *context)
{
	(void)context;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Apache-2.0";
