"""Where the CPU time of a trial went: sampled, filed, and checked against what the kernel counts."""
