"""Commands that read results, a module each; the command line registers them."""

from pathlib import Path
from typing import Annotated

import typer

ResultPath = Annotated[Path, typer.Argument(metavar="RESULT", help="Directory of a result, results/...")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else there.")]
