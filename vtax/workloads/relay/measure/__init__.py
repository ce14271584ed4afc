"""Relays: a small message goes round a ring of them, in one guest or through several, and rounds are timed."""
