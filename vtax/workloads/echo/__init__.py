"""Echoes through one router among many, while the others rest or forward TCP (anhalt2009, IV.C.2)."""
