"""Requests that are answered, over their length, placement and transport (oljira2016)."""
