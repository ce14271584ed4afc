"""Waiting for what an ESXi host does in the background.

The library's own wait asks for all that a task tells, which a host may say in types that it does not take, and knows no
limit of time.
"""

import contextlib
import time
from typing import TypeVar, cast

from pyVmomi import vmodl

from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.esxi.interface import Task
from vtax.platforms.esxi.session import Session

LIMIT_S = 60.0
ROUND_S = 10
R = TypeVar("R")
Collector = vmodl.query.PropertyCollector


def finish(session: Session, task: Task[R]) -> R:
    """Wait for a task's end; returns its result. Raises the fault that it ended by, PlatformUnusable beyond LIMIT_S."""
    collector = session.content.propertyCollector
    asked = Collector.PropertySpec(type=type(task), pathSet=["info.state", "info.error", "info.result"])
    wanted = Collector.FilterSpec(objectSet=[Collector.ObjectSpec(obj=task)], propSet=[asked])
    told: dict[str, object] = {}
    version, deadline = "", time.monotonic() + LIMIT_S
    changes = collector.CreateFilter(wanted, partialUpdates=True)
    try:
        while told.get("info.state") not in ("success", "error"):
            if time.monotonic() > deadline:
                raise PlatformUnusable(
                    f"{session.address.host} did not end a task within {LIMIT_S:g} s",
                    "needs a look at its tasks",
                )
            update = collector.WaitForUpdatesEx(version, Collector.WaitOptions(maxWaitSeconds=ROUND_S))
            for of_task in (one for each in (update.filterSet if update else ()) for one in each.objectSet):
                told.update({change.name: change.val for change in of_task.changeSet})
            version = update.version if update else version
    finally:
        with contextlib.suppress(vmodl.MethodFault):
            changes.DestroyPropertyFilter()
    if isinstance(fault := told.get("info.error"), Exception):
        raise fault
    return cast("R", told.get("info.result"))
