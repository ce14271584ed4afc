"""Acts on the machine that vtax runs on: namespaces, threads, CPU time, agents, and what is owned here."""
