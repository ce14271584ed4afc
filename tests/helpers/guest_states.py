"""Answers to `guest.state`: a true one, and others with what is said of each."""

from typing import Any

MAC = "02:76:74:00:00:01"
NIC = {
    **{"interface": "eth0", "mac": MAC, "ready": True, "received": 5, "sent": 4},
    **{"dropped_in": 0, "dropped_out": 0, "dropped_queue": 2**63 - 1},
}
TRUE = {"interfaces": [NIC], "clock_offset_ns": -(2**62), "oom_kills": None}
LIES: dict[str, tuple[Any, str]] = {
    "a list": ([], r"answered guest.state with what is not of its type \(Expected `object`, got `array`\)"),
    "nothing": ({}, r"\(Object missing required field `clock_offset_ns`\)"),
    "null": (None, "got `null`"),
    "a number": (7, "got `int`"),
    "a text": ("\x1b]52;c;bmM=\x07", "got `str`"),
    "the host's own judgement": (
        {**TRUE, "condition": "ended"},
        "unknown field `condition`",
    ),
    "interfaces of another shape": ({**TRUE, "interfaces": {}}, r"got `object` - at `\$\.interfaces`"),
    "an interface that lacks a counter": (
        {**TRUE, "interfaces": [{key: NIC[key] for key in NIC if key != "sent"}]},
        r"missing required field `sent` - at `\$\.interfaces\[0\]`",
    ),
    "an interface that is ready in words": (
        {**TRUE, "interfaces": [{**NIC, "ready": "yes"}]},
        r"\[0\]\.ready`",
    ),
    "an address that is none": ({**TRUE, "interfaces": [{**NIC, "mac": "x"}]}, r"\[0\]\.mac`"),
    "a name with escapes": ({**TRUE, "interfaces": [{**NIC, "interface": "\x1b[2J"}]}, r"\[0\]\.interface`"),
    "half a nanosecond": ({**TRUE, "clock_offset_ns": 0.5}, r"\$\.clock_offset_ns`"),
    "an offset beyond any clock's": ({**TRUE, "clock_offset_ns": 10**400}, r"\$\.clock_offset_ns`"),
    "a truth value for a number": ({**TRUE, "oom_kills": True}, r"\$\.oom_kills`"),
    "fewer than no kills": ({**TRUE, "oom_kills": -1}, r"\$\.oom_kills`"),
    "more than a column holds": (
        {**TRUE, "oom_kills": 2**63},
        r"<= 9223372036854775807 - at `\$\.oom_kills`",
    ),
}
