//! # The bounds of params, each stated once
//!
//! Params are checked against them, the schema exports them, and build.rs, which includes this file, writes them into
//! the header `bounds.h` for the BPF programs.

/// A bound as the schema exports it.
pub(super) struct Bound {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) value: u64,
}

macro_rules! bounds {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:expr;)*) => {
        $($(#[doc = $doc])+ pub(crate) const $name: u64 = $value;)*

        /// All bounds, in the order of their names.
        pub(super) const ALL: &[Bound] = &[
            $(Bound { name: stringify!($name), doc: concat!($($doc),+), value: $name }),*
        ];
    };
}

bounds! {
    /// Greatest length of one UDP datagram's payload, in bytes.
    GREATEST_DATAGRAM_BYTES = 65_507;
    /// Greatest length of an echo request's payload, in bytes: that of one IP packet without headers.
    GREATEST_ECHO_BYTES = 65_507;
    /// Greatest rate of a token bucket, in bit/s.
    GREATEST_EGRESS_BPS = 1_000_000_000_000;
    /// Greatest delay of a queueing discipline, in ns.
    GREATEST_EGRESS_DELAY_NS = 1_000_000_000;
    /// Greatest overhead that a token bucket counts with every frame, in bytes.
    GREATEST_EGRESS_OVERHEAD_BYTES = 1000;
    /// Greatest rate of frames or of probes, in frames per second.
    GREATEST_FPS = 10_000_000;
    /// Greatest length of a test frame, in bytes, FCS left out.
    GREATEST_FRAME_BYTES = 9018;
    /// Greatest intended goodput of a flow, in Mbit/s.
    GREATEST_GOODPUT_MBPS = 1_000_000;
    /// Greatest rate of a link, in Mbit/s.
    GREATEST_LINK_MBPS = 1_000_000;
    /// Greatest amount of memory that a worker of stress takes, in bytes.
    GREATEST_MEMORY_BYTES = 4 << 30;
    /// Greatest length of a message, in bytes.
    GREATEST_MESSAGE_BYTES = 65_536;
    /// Greatest TCP segment size or SCTP fragment size that can be asked for, in bytes.
    GREATEST_MSS_BYTES = 32_767;
    /// Greatest length of a token bucket's queue and size of the bucket, in bytes.
    GREATEST_QUEUE_BYTES = 1 << 30;
    /// Greatest length of netem's queue, in packets.
    GREATEST_QUEUE_PACKETS = 1_000_000;
    /// Greatest share of packets that a queueing discipline loses, duplicates or reorders.
    GREATEST_RATIO = 1;
    /// Greatest length of a relay's message, in bytes: below one TCP segment.
    GREATEST_RELAY_BYTES = 1400;
    /// Greatest rate of requests, in requests per second.
    GREATEST_RPS = 1_000_000;
    /// Greatest number of one frame in so many that stages follow.
    GREATEST_SAMPLE_EVERY = 1_000_000;
    /// Greatest rate of CPU samples, in samples per second of each CPU: above it the sampling itself would be seen.
    GREATEST_SAMPLE_HZ = 10_000;
    /// Greatest size of a socket buffer that can be asked for, in bytes.
    GREATEST_SOCKET_BUFFER_BYTES = 1 << 28;
    /// Greatest number of a stream; numbers take seven bits of a test frame.
    GREATEST_STREAM = 127;
    /// Greatest VLAN identifier.
    GREATEST_VLAN = 4094;
    /// Least size of a token bucket, in bytes: the largest frame of MTU 1500, since what it cannot hold never leaves.
    LEAST_BUCKET_BYTES = 1514;
    /// Least length of an echo request's payload, in bytes.
    LEAST_ECHO_BYTES = 16;
    /// Least rate of a token bucket, in bit/s: a byte per second.
    LEAST_EGRESS_BPS = 8;
    /// Least length of a test frame, in bytes, FCS left out.
    LEAST_FRAME_BYTES = 64;
    /// Least amount of memory that a worker of stress takes, in bytes.
    LEAST_MEMORY_BYTES = 1 << 20;
    /// Least TCP segment size or SCTP fragment size that can be asked for, in bytes.
    LEAST_MSS_BYTES = 88;
    /// Least length of a bulk message, in bytes: that of its header.
    LEAST_RECORD_BYTES = 24;
    /// Least length of a relay's message, in bytes: that of a sequence number (matthews2009, section 2).
    LEAST_RELAY_BYTES = 4;
    /// Least size of a socket buffer that can be asked for, in bytes.
    LEAST_SOCKET_BUFFER_BYTES = 4096;
    /// Longest busy polling for input, in µs.
    LONGEST_BUSY_POLL_US = 1_000_000;
    /// Longest name of a congestion control, in bytes.
    LONGEST_CONGESTION_NAME = 15;
    /// Longest cycle of a mix of frame lengths, in frames.
    LONGEST_CYCLE = 1024;
    /// Longest wait for the last frames or messages of a trial, in ms.
    LONGEST_DRAIN_MS = 60_000;
    /// Longest name of a program's file, in bytes.
    LONGEST_FILE_NAME = 100;
    /// Longest interval between echo requests or relay iterations, in ms.
    LONGEST_INTERVAL_MS = 60_000;
    /// Longest line of the control stream, in bytes, its newline included.
    LONGEST_LINE_BYTES = 65_536;
    /// Longest phase of a run, in s.
    LONGEST_PHASE_S = 3600;
    /// Longest run of a client program, and longest wait until a server program is ready, in ms.
    LONGEST_PROGRAM_MS = 3_600_000;
    /// Longest name of a trail or a stage, in characters.
    LONGEST_STAGE_NAME = 64;
    /// Longest timeout of a request, a connection or a relayed message, in ms.
    LONGEST_TIMEOUT_MS = 60_000;
    /// Longest delay and duration of the window of a meter, in s.
    LONGEST_WINDOW_S = 86_400;
    /// Most time from a call to the moment at which it is to begin, in ns.
    MOST_AHEAD_NS = 10_000_000_000;
    /// Most captured frames of a stream.
    MOST_CAPTURED_FRAMES = 1024;
    /// Most words of a program's command line.
    MOST_COMMAND_WORDS = 256;
    /// Most network namespaces in which dropped frames are counted.
    MOST_DROP_NAMESPACES = 64;
    /// Most places at which dropped frames are counted apart: as many as fit into a line.
    MOST_DROP_PLACES = 400;
    /// Most bytes of all files of programs together.
    MOST_FILE_BYTES = 64 << 20;
    /// Most flows of a receiver and its sender: one thread serves them all.
    MOST_FLOWS = 64;
    /// Most iterations of a client program or a relay run.
    MOST_ITERATIONS = 1_000_000;
    /// Most lengths that a mix of frames has.
    MOST_LENGTHS = 7;
    /// Most packets whose times stages keep.
    MOST_PACKETS = 4096;
    /// Most phases of a source's run.
    MOST_PHASES = 16;
    /// Most points of all trails that stages watch.
    MOST_POINTS = 64;
    /// Most relays of one agent.
    MOST_RELAYS = 8;
    /// Most flows of a source's stream: one per source port.
    MOST_SOURCE_FLOWS = 65_536;
    /// Most threads of a source.
    MOST_SOURCE_THREADS = 8;
    /// Most strands of a stream, each sent by one thread.
    MOST_STRANDS = 8;
    /// Most streams of a source or a sink: a line holds eight histograms.
    MOST_STREAMS = 8;
    /// Most trails that stages watch.
    MOST_TRAILS = 16;
    /// Most trails that end at one point.
    MOST_TRAIL_ENDS = 4;
    /// Most points of one trail.
    MOST_TRAIL_POINTS = 16;
    /// Most echo requests under way at once: a timeout divided by the interval.
    MOST_WAITING = 65_536;
    /// Most workers of stress.
    MOST_WORKERS = 64;
}
