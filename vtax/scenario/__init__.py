"""What to measure: scenario files, the grid of their cells, and what the command line changes in them."""

from vtax.scenario.grid import Cell, Factor
from vtax.scenario.load import ScenarioSummary, list_scenarios, load_scenario
from vtax.scenario.scenario import Scenario
from vtax.scenario.schema import ScenarioFile, TestbedSettings, Workload

__all__ = [
    "Cell",
    "Factor",
    "Scenario",
    "ScenarioFile",
    "ScenarioSummary",
    "TestbedSettings",
    "Workload",
    "list_scenarios",
    "load_scenario",
]
