"""Machines elsewhere: their hosts are asked over a byte stream, with no other difference to who asks."""

from vtax.testbed.remote.file import TestbedFile, read_testbed, testbed_of
from vtax.testbed.remote.machines import SeveralMachines

__all__ = ["SeveralMachines", "TestbedFile", "read_testbed", "testbed_of"]
