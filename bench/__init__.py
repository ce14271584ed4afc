"""What `make bench` carries out: vtax against other tools, in the same run and on the same interfaces.

Not part of the installed package. `PARTS` in `__main__` names the modules that measure.
"""
