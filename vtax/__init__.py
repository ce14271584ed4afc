"""vtax measures what virtualization costs every packet: throughput, loss, delay and CPU time."""

__version__ = "0.1.0"
