"""Methods that are asked for over a machine's stream: params and answers have the types that their signatures have."""

import functools
import inspect
from collections.abc import Callable
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Raw, Struct, structs

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


class Asked(Protocol):
    """Who answers at the other end."""

    name: str

    def ask(self, method: str, params: Raw, limit_s: float) -> Raw:
        """Ask and wait; raises what was raised there."""


class HostQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """The params of `host.ACT`."""

    host: str
    arguments: Raw


class Act(Generic[P, T]):
    """A method, as both ends of the stream have it."""

    def __init__(self, method: Callable[Concatenate[S, P], T]) -> None:
        self.name = method.__name__
        self._signature = inspect.signature(method)
        types = get_type_hints(method)
        _, *parameters = self._signature.parameters.values()
        self._params = msgspec.defstruct(
            self.name,
            [
                (
                    each.name,
                    types[each.name],
                    msgspec.NODEFAULT if each.default is each.empty else each.default,
                )
                for each in parameters
            ],
            frozen=True,
            forbid_unknown_fields=True,
            kw_only=True,
        )
        self._answer: msgspec.json.Decoder[T] = msgspec.json.Decoder(types["return"])

    def question(self, *arguments: P.args, **named: P.kwargs) -> Raw:
        """The params for these arguments."""
        bound = self._signature.bind(None, *arguments, **named)
        bound.apply_defaults()
        _, *names = self._signature.parameters
        return Raw(msgspec.json.encode({name: bound.arguments[name] for name in names}))

    def carry_out(self, of: object, params: Raw) -> Raw:
        """Call the method of that name, and return its answer."""
        values = msgspec.json.decode(params, type=self._params)
        return Raw(msgspec.json.encode(getattr(of, self.name)(**structs.asdict(values))))

    def read(self, answer: Raw) -> T:
        """What was returned there."""
        return self._answer.decode(answer)


_made = functools.cache(Act)


def act_of(method: Callable[Concatenate[S, P], T]) -> Act[P, T]:
    """The act that a method is; each is made once."""
    return cast("Act[P, T]", _made(method))


def public_methods(of: type) -> frozenset[str]:
    """The names of what it can be asked for."""
    return frozenset(name for name, _ in inspect.getmembers(of, inspect.isfunction) if name[0] != "_")
