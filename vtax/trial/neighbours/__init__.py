"""Neighbours of the guests that are measured: what they do in a trial, and what came of it."""
