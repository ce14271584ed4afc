"""A loss and its causes in one sentence, each number with its interval."""

from __future__ import annotations

from vtax.views import numbers
from vtax.views.diagnosis.candidate import Kind
from vtax.views.diagnosis.effects import Effect, Quantity
from vtax.views.diagnosis.ranking import Cause, Explained
from vtax.views.diagnosis.references import Pair, Rule
from vtax.views.diagnosis.trials import UNNAMED, Account
from vtax.views.sentences import listed

PARTS = ((0.8, "nearly all of it"), (0.5, "most of it"), (0.2, "part of it"), (0.0, "a little of it"))
"""How the part that a cause explains is worded: what is computed from means alone has no digits to trust."""
LEFT_OVER = 0.2
"""A part that no cause explains is said from here on."""
HOST_COMPONENTS = {
    "foreign": "processes that are not vtax's",
    "softirq": "soft interrupts",
    "hardirq": "hard interrupts",
    "kernel": "other threads of the kernel",
    "untold": "somebody whom the kernel does not tell",
    UNNAMED[2]: "soft interrupts and processes, not told apart,",
}


def sentence(explained: Explained) -> str:
    """What was lost, against what, and why: one sentence that ends in a full stop."""
    pair, effects = explained.affected.pair, explained.affected.effects
    lost = listed([_lost(effect, pair) for effect in effects])
    of = "it" if len(effects) == 1 else "the first"
    parts = [f"{_part(cause, of)} is that {_cause(cause)}" for cause in explained.causes]
    if not parts:
        parts = ["nothing that was recorded explains it: unexplained"]
    elif explained.unexplained >= LEFT_OVER:
        parts.append(f"{_worded(explained.unexplained, of)} is unexplained")
    if explained.shown:
        parts.append(f"along with it {listed([_cause(cause) for cause in explained.shown])}")
    return f"{lost}: {'; '.join(parts)}."


def account_words(account: Account) -> str:
    """Whose CPU time an account is."""
    domain, number, component = account
    if domain == "steal":
        return "the machine below"
    if domain == "host":
        thread = component.removeprefix("ingress ")
        return HOST_COMPONENTS.get(component) or (
            f"the ingress thread of {thread}" if thread != component else component
        )
    owner = f"the {domain}" if not number else f"{domain} {number}"
    return f"{owner}'s {'processes' if component == 'other' else component}"


def _lost(effect: Effect, pair: Pair) -> str:
    quantity, lost = effect.quantity, effect.lost
    unit = "%" if quantity.unit.startswith("%") else f" {quantity.unit}"
    compared = "more" if quantity.is_time else "less"
    return (
        f"{quantity.verb} {quantity.form(effect.measured)}{unit}{_of_what(quantity)}, {quantity.form(lost.value)} "
        f"{compared} than {_against(pair)} ({numbers.interval(lost, quantity.form)}, n={lost.n})"
    )


def _of_what(quantity: Quantity) -> str:
    return quantity.unit.removeprefix("%") if quantity.unit.startswith("%") else ""


def _against(pair: Pair) -> str:
    match pair.rule:
        case Rule.PLATFORM:
            return pair.against
        case Rule.LOAD if pair.factor == "intended_mbps":
            return f"at {pair.against}"
    return f"with {pair.against}"


def _part(cause: Cause, of: str) -> str:
    return _worded(cause.explains or 0.0, of)


def _worded(share: float, of: str) -> str:
    return next(words for least, words in PARTS if share >= least).replace("it", of)


def _cause(cause: Cause) -> str:
    who = account_words(cause.account) if cause.account else ""
    amount, is_share = _amount(cause), cause.unit == "%"
    time = f"{who} had {amount} more" if is_share else f"{who} took {amount} more"
    waited = (
        f"was ready without a CPU for {amount} more of the time"
        if is_share
        else f"waited {amount} longer for a CPU"
    )
    words = {
        Kind.TAKEN: time,
        Kind.SPENT: time,
        Kind.WAITED: f"{who} {waited}",
        Kind.DROPPED: f'{amount} more were dropped at {cause.hop}, "{cause.reason or "no reason is told"}"',
        Kind.HELD_BACK: f"the source was held back and offered {amount} less",
        Kind.LIMITED: f"{amount} less was offered ({cause.reason or 'no mark says why'})",
        Kind.RESENT: f"{amount} more were sent again",
    }
    return words[cause.kind]


def _amount(cause: Cause) -> str:
    """How much more, with its interval."""
    form, unit = _scale(cause.unit)
    of = " of a CPU" if cause.kind in (Kind.TAKEN, Kind.SPENT) and cause.unit == "%" else ""
    return f"{form(cause.more.value)}{unit}{of} ({numbers.interval(cause.more, form)})"


def _scale(unit: str) -> tuple[numbers.Format, str]:
    match unit:
        case "%":
            return numbers.percent, "%"
        case "ratio":
            return numbers.ratio_as_percent, "% of the frames"
        case "Mbit/s":
            return numbers.mbps, " Mbit/s"
        case "segments":
            return numbers.whole, " segments"
    return numbers.microseconds, f" µs{unit.removeprefix('ns')}"
