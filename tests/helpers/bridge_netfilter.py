"""A scenario of one guest, and the sysctls of netfilter in bridges, off and on."""

from vtax.machine import bridge_netfilter as sysctl

SCENARIO = """
name: test/netfilter
title: A test
question: Do bridges pass frames to netfilter?
workload: {kind: forwarding, warmup_s: 0, duration_s: 0.2, streams: 1, frame_bytes: 64, intended_mbps: 1}
testbed: {link_mbps: 1000, flow_control: true}
factors: {platform: [container]}
repetitions: 1
"""
OFF, ON = (dict.fromkeys(sysctl.TABLES, enabled) for enabled in (False, True))
