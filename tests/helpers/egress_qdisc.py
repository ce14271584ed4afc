"""A scenario whose guests send through queueing disciplines that are known."""

SCENARIO = """
name: test/egress-qdisc
title: A test
question: Is what was planted found?
workload: {kind: forwarding, warmup_s: 0.2, duration_s: 1, streams: 1, frame_bytes: 1500}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [uml]
  platform.egress_qdisc: [default, netem loss 10% delay 20ms, tbf rate 20mbit burst 8kb limit 32kb overhead 24]
  intended_mbps: [30]
repetitions: 1
figures: [throughput-by-load]
"""
