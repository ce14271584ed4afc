"""Loss of power: what a program has a disk do is recorded, and the disk rebuilt as it may be after any of it."""
