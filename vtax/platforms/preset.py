"""Presets: the platform names that users ask for."""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal, Union

from msgspec import Raw
from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, create_model

from vtax import platforms
from vtax.inputs import Document, InputError, problems, read_document, validate
from vtax.inputs.needs import Need
from vtax.platforms.contract import Argument, Platform, PlatformConfig

DIRECTORY = Path(__file__).resolve().parent.parent / "data/platforms"


class PresetFile(BaseModel):
    """The shape of a preset file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    kind: str
    config: dict[str, JsonValue] = {}
    untried: str | None = None
    """What of it was never run, where that is so; in words that stand in brackets behind its title."""


@dataclass(frozen=True)
class Preset:
    """A named platform: a kind and the values of its keys."""

    name: str
    title: str
    kind: str
    config: dict[str, JsonValue]
    document: Document
    untried: str | None = None

    @property
    def path(self) -> Path:
        """Where the preset is written down."""
        return self.document.path

    def platform(self) -> Platform[PlatformConfig]:
        """The code behind the preset's kind."""
        kind: Platform[PlatformConfig] = self._module.Kind()
        return kind

    @property
    def argument(self) -> Argument | None:
        """What may follow its name and a colon; None where nothing may."""
        return getattr(self._module, "ARGUMENT", None)

    def of(self, text: str) -> "Preset":
        """The preset whose argument is `text`."""
        assert self.argument is not None  # noqa: S101 - looked at by whoever read the name
        config = {**self.config, self.argument.key: text}
        return replace(self, name=f"{self.name}:{text}", config=config)

    @property
    def keys(self) -> list[str]:
        """The keys `platform.*` that a scenario may change."""
        return list(self._model.model_fields)

    def problems(self, overrides: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
        """What is wrong with the values of `overrides`: key and sentence."""
        found = problems(self._model, {**self.config, **overrides})
        return [(str(loc[0]), text) for loc, text in found if loc and loc[0] in overrides]

    def resolve(self, overrides: Mapping[str, JsonValue]) -> PlatformConfig:
        """The preset's keys with `overrides` on top; raises InputError at the preset's file and line."""
        return validate(self._model, self.document, {**self.config, **overrides}, at=("config",))

    def needs(self, overrides: Mapping[str, JsonValue]) -> list[Need]:
        """What guests need beyond plain traffic with `overrides` on top of the preset's keys."""
        return list(self._model.needs({**self.config, **overrides}))

    @property
    def _model(self) -> type[PlatformConfig]:
        model: type[PlatformConfig] = self._module.Config
        return model

    @property
    def _module(self) -> ModuleType:
        try:
            return load_kind(self.kind)
        except InputError as error:
            raise self.document.error(("kind",), str(error)) from None


class Presets(dict[str, Preset]):
    """Presets by name; a name that goes on behind a colon is found, and not listed."""

    def __missing__(self, name: str) -> Preset:
        """The preset before the colon with what follows it; KeyError where there is none of the kind."""
        stem, colon, text = name.partition(":")
        if not (colon and text and stem in self and self[stem].argument):
            raise KeyError(name)
        return self[stem].of(text)


def presets(directory: Path = DIRECTORY) -> Presets:
    """Every preset by name, in the order of the names."""
    found = Presets()
    for path in sorted(directory.glob("*.yaml"), key=lambda path: path.stem):
        document = read_document(path)
        content = validate(PresetFile, document)
        found[path.stem] = Preset(
            path.stem, content.title, content.kind, content.config, document, content.untried
        )
    return found


def preset_model() -> type[BaseModel]:
    """A preset file of any kind, with the keys of that kind below `config`: what editors are told of."""
    models = tuple(_preset_of(kind, load_kind(kind).Config) for kind in kinds())
    return RootModel[Annotated[Union[models], Field(discriminator="kind")]]  # type: ignore[valid-type]  # noqa: UP007 - a union of what there is


def _preset_of(kind: str, config: type[PlatformConfig]) -> type[PresetFile]:
    needed = any(field.is_required() for field in config.model_fields.values())
    return create_model(
        f"{kind}_preset",
        __base__=PresetFile,
        kind=(Literal[kind], ...),  # type: ignore[arg-type]  # a type of what there is
        config=(config, ... if needed else None),
    )


@cache
def kinds() -> tuple[str, ...]:
    """The kinds that exist: modules of this package that define `Kind`."""
    names = (module.name for module in pkgutil.iter_modules(platforms.__path__))
    return tuple(name for name in names if hasattr(importlib.import_module(f"vtax.platforms.{name}"), "Kind"))


def load_kind(kind: str) -> ModuleType:
    """The module of a kind."""
    if kind not in kinds():
        raise InputError(f"unknown platform kind {kind!r}; there are: {', '.join(kinds())}")
    return importlib.import_module(f"vtax.platforms.{kind}")


def keys_of(config: PlatformConfig) -> Raw:
    """A platform's keys as JSON, in which a kind's own keys need no type of their own."""
    return Raw(config.model_dump_json().encode())


def config_of(kind: str, keys: Raw) -> PlatformConfig:
    """The keys of a kind of which `keys_of` made JSON."""
    config: PlatformConfig = load_kind(kind).Config.model_validate_json(bytes(memoryview(keys)))
    return config
