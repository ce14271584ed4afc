"""A loss and its causes in one sentence, each number with its interval."""

from __future__ import annotations

from vtax.model import numbers
from vtax.model.diagnosed import Lost
from vtax.model.sentence import listed
from vtax.views.diagnosis.candidate import CauseKind
from vtax.views.diagnosis.effects import Effect
from vtax.views.diagnosis.ranking import Cause, Explained
from vtax.views.diagnosis.references import Pair, Rule
from vtax.views.diagnosis.trials import UNNAMED, Account

PARTS = (
    (0.8, "Main cause", "80% or more"),
    (0.5, "Major cause", "50 to 80%"),
    (0.2, "Partial cause", "20 to 50%"),
    (0.0, "Minor cause", "below 20%"),
)
"""From which share of the loss on, the name of its cause and the range shown: means give no more digits."""
LEFT_OVER = 0.2
"""An unexplained part is reported from this share on."""
HOST_COMPONENTS = {
    "foreign": "processes that are not vtax's",
    "softirq": "soft interrupts",
    "hardirq": "hard interrupts",
    "kernel": "other threads of the kernel",
    "untold": "threads that the kernel does not identify",
    UNNAMED[2]: "soft interrupts and processes together",
}


def sentence(explained: Explained) -> str:
    """Return what was lost against the reference, its causes in order, and the part without one, as full sentences.

    Where throughput and time were lost, the causes are those of the throughput.
    """
    pair, effects = explained.affected.pair, explained.affected.effects
    lost = listed([_lost(effect, pair) for effect in effects])
    loss = "the added time" if effects[0].quantity.is_time else "the loss"
    parts = [f"{_explaining(cause.explains or 0.0, loss)}: {_cause(cause)}" for cause in explained.causes]
    if not parts:
        parts = [f"Unexplained: the recorded data show no cause of {loss}"]
    elif explained.unexplained >= LEFT_OVER:
        parts.append(f"Unexplained: {_named(explained.unexplained)[1]} of {loss}")
    if explained.shown:
        parts.append(f"Also: {listed([_cause(cause) for cause in explained.shown])}")
    return f"{'. '.join([lost, *parts])}."


def account_words(account: Account) -> str:
    """Whose CPU time an account is."""
    domain, number, component = account
    if domain == "steal":
        return "the hypervisor below (steal)"
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
    measured = quantity.form(effect.measured.value)
    compared = "more" if quantity.is_time else "less"
    return (
        f"{quantity.verb} {measured}{unit}{_of_what(quantity)}, {quantity.form(lost.value)} "
        f"{compared} than {_against(pair)} ({numbers.interval(lost, quantity.form)}, n = {lost.n})"
    )


def _of_what(quantity: Lost) -> str:
    return quantity.unit.removeprefix("%") if quantity.unit.startswith("%") else ""


def _against(pair: Pair) -> str:
    match pair.rule:
        case Rule.PLATFORM:
            return pair.against
        case Rule.LOAD if pair.factor == "intended_mbps":
            return f"at {pair.against}"
    return f"with {pair.against}"


def _explaining(share: float, loss: str) -> str:
    name, part = _named(share)
    return f"{name} ({part} of {loss})"


def _named(share: float) -> tuple[str, str]:
    """Return the name of a cause with that share of the loss, and the share's range in words."""
    return next((name, part) for least, name, part in PARTS if share >= least)


def _cause(cause: Cause) -> str:
    who = account_words(cause.account) if cause.account else ""
    amount, is_share = _amount(cause), cause.unit == "%"
    time = f"{who} used {amount} more"
    waited = (
        f"was ready without a CPU for {amount} more of the time"
        if is_share
        else f"waited {amount} longer for a CPU"
    )
    words = {
        CauseKind.TAKEN: time,
        CauseKind.SPENT: time,
        CauseKind.WAITED: f"{who} {waited}",
        CauseKind.DROPPED: f'{cause.hop} dropped {amount} more, "{cause.reason or "no reason recorded"}"',
        CauseKind.HELD_BACK: f"the source was held back and offered {amount} less",
        CauseKind.LIMITED: f"the source offered {amount} less ({cause.reason or 'no mark explains it'})",
        CauseKind.RESENT: f"the transport retransmitted {amount} more",
    }
    return words[cause.kind]


def _amount(cause: Cause) -> str:
    """How much more, with its interval."""
    form, unit = _scale(cause.unit)
    of = " of a CPU" if cause.kind in (CauseKind.TAKEN, CauseKind.SPENT) and cause.unit == "%" else ""
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
