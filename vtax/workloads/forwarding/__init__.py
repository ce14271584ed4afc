"""Frames through the guests, by load, frame size and number of streams (schlosser2011)."""
