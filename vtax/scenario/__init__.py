"""What to measure: scenario files, the grid of their cells, and what the command line changes in them."""

from vtax.scenario.grid import Factor
from vtax.scenario.load import ScenarioSummary, list_scenarios, load_scenario
from vtax.scenario.scenario import Scenario
from vtax.scenario.schema import Ab, Precision, ScenarioFile, Search

__all__ = [
    "Ab",
    "Factor",
    "Precision",
    "Scenario",
    "ScenarioFile",
    "ScenarioSummary",
    "Search",
    "list_scenarios",
    "load_scenario",
]
