"""`python -m vtax`."""

import sys

from vtax.cli import main

sys.exit(main())
