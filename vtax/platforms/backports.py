"""Packages of Debian's backports for the installed release, unpacked into the cache and never installed.

Package lists of the backports are kept in the cache, too: what this machine installs from stays as it is.
"""

import platform
import re
import subprocess
from collections.abc import Callable, Sequence

from vtax.platforms.cache import filling_cache, open_shelf, replace_text
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.package import Shelf, check_tools, run_tool, said

BACKPORTS = "backports"
TOOLS = {"apt-get": "apt", "dpkg-deb": "dpkg"}


def check_backports() -> None:
    """Look whether this system can have backports; raises PlatformUnusable."""
    check_tools(TOOLS)
    _suite()


def fetch_backport(shelf: Shelf, ask: Callable[[str, Sequence[str]], list[str]]) -> str:
    """The newest backport of a shelf's package that can be had; raises PlatformUnusable.

    `ask(suite, options)` names that package and those beside it, as `apt-get download` takes them; `options` have
    apt know the suite. Where it raises SubprocessError or LookupError, the newest in the cache is taken.
    """
    suite = _suite()
    try:
        options = _lists(suite)
        wanted = ask(suite, options)
    except (subprocess.SubprocessError, LookupError) as error:
        if (cached := shelf.newest()) is None:
            raise PlatformUnusable(
                f"no {shelf.package} of {suite} can be had: {said(error)}",
                f"needs a package archive that has {suite}, and what the package needs",
            ) from error
        return cached
    return shelf.fetch(wanted[0], wanted[1:], options)


def _suite() -> str:
    try:
        return f"{platform.freedesktop_os_release()['VERSION_CODENAME']}-{BACKPORTS}"
    except (OSError, KeyError) as error:
        raise PlatformUnusable(
            "this system has no backports", "needs Debian or a derivative of it"
        ) from error


def _lists(suite: str) -> list[str]:
    """Options that have apt know the suite, from lists of its own; SubprocessError or LookupError where it is not."""
    root = open_shelf("apt")
    source = root / "sources.list"
    with filling_cache():
        for directory in ("lists", "archives"):
            (open_shelf(f"apt/{directory}") / "partial").mkdir(exist_ok=True)  # apt makes it its own user's
        replace_text(source, f"deb {_archive(suite.removesuffix(f'-{BACKPORTS}'))} {suite} main\n")
    options = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": root / "lists",
        "Dir::Cache": root,
        "Acquire::Retries": 1,
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    run_tool("apt-get", *words, "--error-on=any", "update", timeout_s=120)
    return words


def _archive(codename: str) -> str:
    """Where this machine has its packages of Debian's from; raises LookupError where it has none."""
    told = run_tool("apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", timeout_s=60)
    found = re.search(rf"^Debian {re.escape(codename)} (\S+)$", told, re.MULTILINE)
    if found is None:
        raise LookupError(f"no package lists of Debian {codename} are here")
    return found[1]
