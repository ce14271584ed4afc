"""What to measure: scenario files, the grid of their cells, and what the command line changes in them."""

from vtax.scenario.grid import Cell, Factor
from vtax.scenario.load import ScenarioSummary, list_scenarios, load_scenario
from vtax.scenario.scenario import Scenario
from vtax.scenario.schema import Precision, ScenarioFile, Search, TestbedSettings, Workload

__all__ = [
    "Cell",
    "Factor",
    "Precision",
    "Scenario",
    "ScenarioFile",
    "ScenarioSummary",
    "Search",
    "TestbedSettings",
    "Workload",
    "list_scenarios",
    "load_scenario",
]
