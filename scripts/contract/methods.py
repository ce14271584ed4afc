"""The class with a method for each of the agent's, and the bounds."""

from scripts.contract.document import Contract, Method
from scripts.contract.models import NOTHING, docstring


def bounds(contract: Contract) -> str:
    """Return the source of the bounds, as constants."""
    lines = [f"PROTOCOL = {contract.protocol}", '"""The version of the protocol."""']
    for name, bound in contract.bounds.items():
        lines += [f"{name} = {bound.value:_}", *docstring(bound.description, "")]
    return "\n".join(lines) + "\n"


def api(contract: Contract) -> str:
    """Return the source of the class."""
    lines = [
        "class AgentApi:",
        '    """Each method of an agent, with the types of its params and its answer."""',
        "",
        "    def __init__(self, caller: Caller) -> None:",
        "        self._caller = caller",
        "",
        "    @property",
        "    def agent(self) -> str:",
        '        """The agent\'s name."""',
        "        return self._caller.agent",
    ]
    for name, method in contract.methods.items():
        lines += ["", *_call(name, method), "", *_begin(name, method)]
    return "\n".join(lines) + "\n"


def _call(name: str, method: Method) -> list[str]:
    params, given = _params(method)
    arguments = f"self, {params}timeout_s: float = CALL_TIMEOUT_S"
    call = f'self._caller.call("{name}", {given}, {method.answer.refers_to}, timeout_s)'
    is_empty = method.answer.refers_to == NOTHING
    return [
        f"    def {name.replace('.', '_')}({arguments}) -> {_answer(method)}:",
        *docstring(method.description, " " * 8),
        f"        {call}" if is_empty else f"        return {call}",
    ]


def _begin(name: str, method: Method) -> list[str]:
    params, given = _params(method)
    arguments = f"self, {params}".removesuffix(", ")
    return [
        f"    def begin_{name.replace('.', '_')}({arguments}) -> Pending[{method.answer.refers_to}]:",
        *docstring(f"Begin `{name}`, and return what waits for its answer.", " " * 8),
        f'        return self._caller.begin("{name}", {given}, {method.answer.refers_to})',
    ]


def _params(method: Method) -> tuple[str, str]:
    """Return how the params are declared, and how they are given."""
    name = method.params.refers_to
    return ("", "NO_PARAMS") if name == NOTHING else (f"params: {name}, ", "params")


def _answer(method: Method) -> str:
    name = method.answer.refers_to
    return "None" if name == NOTHING else str(name)
