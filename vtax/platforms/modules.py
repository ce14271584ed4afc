"""The order in which a kernel's modules go in, as depmod(8) lists what each needs."""

from pathlib import PurePosixPath


def load_order(dependencies: str, built_in: str, name: str) -> list[str] | None:
    """Return the files to insert for a module, what it needs first: none for one that is built in, None for no module.

    `dependencies` is the text of modules.dep, `built_in` that of modules.builtin; files are as these name them.
    """
    if any(_is(line, name) for line in built_in.splitlines()):
        return []
    for line in dependencies.splitlines():
        module, _, needed = line.partition(":")
        if _is(module, name):
            return [*reversed(needed.split()), module]
    return None


def _is(path: str, name: str) -> bool:
    """Whether a path is a module's, in whose name the kernel takes a dash for an underscore; it may be compressed."""
    stem, ko, _ = PurePosixPath(path.strip()).name.partition(".ko")
    return bool(ko) and stem.replace("-", "_") == name.replace("-", "_")
