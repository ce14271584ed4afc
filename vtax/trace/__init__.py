"""`vtax trace`: where packets spend their time on a path that exists already, live, until it is stopped.

It changes nothing: interfaces are looked at (`targets`), an agent follows packets past them (`session`), and what it
tells is shown (`tables`, `screen`).
"""

from vtax.trace.session import Request, Result, trace

__all__ = ["Request", "Result", "trace"]
