"""Proof that vtax measures what is there: planted taxes, other tools, undisturbed trials, simulated
campaigns, planted artifacts.

`make validate` carries out every part on this machine and writes docs/validation.md anew.
"""
