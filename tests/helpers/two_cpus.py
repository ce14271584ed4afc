"""Tests of who runs on which CPU, which take more than one."""

import os

import pytest

two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU to choose from")
