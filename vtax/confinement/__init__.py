"""Commands that only read results give up their rights first, for a result may be anybody's and parsers have faults.

Before a library that parses is loaded and before there is a second thread, the process keeps the right to read the
results that it was told, the code, and what libraries read of the system; and to write where it was told. Root
also becomes the user whom the results belong to. Only the process of the command line does so, never one that
imports vtax.
"""


class Process:
    """Whether this process runs one command line and nothing else, and so may give up rights for good."""

    is_own = False
