"""Judges a trial by all that is known of it: instrument, surroundings, guest."""

from vtax.campaign.crosscheck import ledger_findings
from vtax.campaign.forwarding.foreign import foreign_findings
from vtax.campaign.forwarding.hops import way_of
from vtax.campaign.forwarding.instrument import instrument_findings
from vtax.campaign.forwarding.limits import frames_sent, limit
from vtax.campaign.forwarding.trial import Measured
from vtax.campaign.forwarding.uplink import UPLINK_LIMITED, Uplink, uplink_findings
from vtax.campaign.guest import guest_findings
from vtax.campaign.surroundings import surroundings_findings
from vtax.campaign.verdict import Judgement, Verdict
from vtax.testbed.neighbours import NEIGHBOURS_INGRESS

OWN_CONTEXT_NS_PER_FRAME = 50
"""Less CPU time than this a frame in the ingress thread, and the frames were handled elsewhere."""


def judge(measured: Measured, link_mbps: float | None) -> Judgement:
    """Judge a trial whose links have this rate."""
    if measured.failure is not None:
        return Judgement(Verdict.INVALID, (f"instrument failed: {measured.failure}",), (), None)
    findings = sorted(
        [
            *instrument_findings(measured),
            *surroundings_findings(measured),
            *foreign_findings(measured),
            *uplink_findings(measured),
            *ledger_findings(measured),
            *guest_findings(measured),
            *measured.beside.findings,
        ],
        key=lambda finding: -list(Verdict).index(finding[0]),
    )
    limits = (limit(measured, stream, link_mbps) for stream in measured.source.streams)
    marks = {mark for mark in limits if mark is not None}
    uplink = Uplink.of(measured)
    if uplink is not None and uplink.limited:
        marks.add(UPLINK_LIMITED)
    verdict = findings[0][0] if findings else Verdict.VALID
    return Judgement(
        verdict, tuple(text for _, text in findings), tuple(sorted(marks)), uut_context(measured)
    )


def uut_context(measured: Measured) -> str | None:
    """`own` when the UUT's ingress threads did the work, `sender` when it was done inside the sender's send().

    Told by where CPU time went, not by configuration: between the samples, against the frames that came meanwhile.
    """
    if measured.cpu is None:
        return None
    before, after = measured.cpu
    elapsed_s = after["at_s"] - before["at_s"]
    departed = sum(map(measured.departed, measured.source.streams))
    entered = sum(map(measured.received, way_of(measured).uut_entries))
    frames = frames_sent(measured) * elapsed_s / measured.window_s * entered / max(departed, 1)
    ingress = [
        name for name in after["threads"] if name.startswith("ingress ") and name not in NEIGHBOURS_INGRESS
    ]
    run_ns = sum(after["threads"][name]["run_ns"] for name in ingress) - sum(
        before["threads"][name]["run_ns"] for name in ingress if name in before["threads"]
    )
    return "own" if run_ns >= OWN_CONTEXT_NS_PER_FRAME * frames else "sender"
