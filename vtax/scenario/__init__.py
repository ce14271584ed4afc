"""What to measure: scenario files, the grid of their cells, and what the command line changes in them."""

from vtax.scenario.grid import Cell, Factor
from vtax.scenario.links import TestbedSettings
from vtax.scenario.load import ScenarioSummary, list_scenarios, load_scenario
from vtax.scenario.scenario import Scenario
from vtax.scenario.schema import Precision, ScenarioFile, Search
from vtax.scenario.workloads import KINDS, Bulk, Echo, Forwarding, Program, Relay, Requests, Workload

__all__ = [
    "KINDS",
    "Bulk",
    "Cell",
    "Echo",
    "Factor",
    "Forwarding",
    "Precision",
    "Program",
    "Relay",
    "Requests",
    "Scenario",
    "ScenarioFile",
    "ScenarioSummary",
    "Search",
    "TestbedSettings",
    "Workload",
    "list_scenarios",
    "load_scenario",
]
