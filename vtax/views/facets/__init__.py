"""Facets: what views make of cells beyond their metrics, a type each. Tracing and neighbours are any kind's."""
