"""What the command line changes in a scenario: each option becomes a value with its origin."""

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.inputs import Document, InputError, one_line, scalar
from vtax.keys.fields import Scalar
from vtax.scenario.names import Key


@dataclass(frozen=True)
class Override:
    """Values for one key, as an option gave them; `option` is its text, `--set streams=1,2`."""

    key: Key
    values: Sequence[Scalar]
    option: str

    def apply(self, document: Document) -> Document:
        """`document` with the key as a factor of several values, or fixed to the only one.

        The preset stays a factor: a scenario always compares platforms, be it a single one.
        """
        spelled = self.spelled(document)
        if len(self.values) > 1 or self.key.section == "preset":
            return document.with_value(("factors", spelled), list(self.values), self.option)
        fixed = document.without(("factors", spelled))
        return fixed.with_value((self.key.section, self.key.name), self.values[0], self.option)

    def spelled(self, document: Document) -> str:
        """The factor's name in the document, short or dotted, so that it keeps its place there."""
        factors = document.data["factors"]
        names = factors if isinstance(factors, dict) else ()
        return next((name for name in names if Key.parse(name) == self.key), self.key.column)


def apply_overrides(
    document: Document,
    platforms: list[str],
    sets: list[str],
    repetitions: int | None,
    duration_s: float | None,
) -> Document:
    """`document`, a valid scenario, with the options' values in it; InputError names the option."""
    overrides = [parse_set(text) for text in sets]
    if platforms:
        overrides.append(
            Override(Key.parse("platform"), platforms, f"--platform {one_line(','.join(platforms))}")
        )
    if duration_s is not None:
        overrides.append(
            Override(Key.parse("workload.duration_s"), [duration_s], f"--duration {duration_s:g}")
        )
    given: dict[Key, str] = {}
    for override in overrides:
        if override.key in given:
            raise InputError(
                f"{override.option}: {override.key.column} is already set by {given[override.key]}"
            )
        given[override.key] = override.option
        document = override.apply(document)
    if repetitions is not None:
        document = document.with_value(("repetitions",), repetitions, f"--repetitions {repetitions}")
    return document


def apply_turns(
    document: Document, factor: str, fail_on: str, blocks: int, budget_s: float | None
) -> Document:
    """`document`, a valid scenario, with the options of `vtax ab` in it; InputError names the option.

    Without a budget the number of blocks is fixed.
    """
    override = parse_set(factor, "--factor", "platform=raw,container")
    if len(override.values) != 2:
        raise InputError(
            f"{override.option}: two levels are measured by turns; name two, as in --factor platform=raw,container"
        )
    if document.data.get("search") is not None:
        raise InputError(
            f"{document.where(('search',))}: a search finds each level's loads by itself, and vtax ab wants levels at "
            "the same loads; name a scenario without search"
        )
    for at in (("factors", override.spelled(document)), (override.key.section, override.key.name)):
        if document.is_typed(at):
            raise InputError(
                f"{override.option}: {override.key.column} is already set by {document.where(at)}"
            )
    document = override.apply(document).without(("precision",))
    option = "--fixed" if budget_s is None else "--budget"
    document = document.with_value(("repetitions",), blocks, option)
    document = document.with_value(("ab", "by"), override.key.column, override.option)
    document = document.with_value(("ab", "budget_s"), budget_s, option)
    document = document.with_value(("ab", "fixed"), budget_s is None, option)
    return document.with_value(("ab", "fail_on"), fail_on, f"--fail-on {one_line(fail_on)}")


def parse_set(text: str, name_of_option: str = "--set", example: str = "frame_bytes=64,1500") -> Override:
    """The override in `KEY=V1,V2`; its values are read as they would be in a file."""
    option = f"{name_of_option} {one_line(text)}"
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"{option}: KEY=VALUE is expected, as in {name_of_option} {example}")
    try:
        key = Key.parse(name.strip())
        parts = [scalar(value.strip()) for value in values.split(",")]
    except ValueError as error:
        raise InputError(f"{option}: {one_line(str(error))}") from None
    given = [part for part in parts if part is not None]
    if len(given) < len(parts):
        raise InputError(f"{option}: a value is missing; separate values by single commas")
    return Override(key, given, option)
