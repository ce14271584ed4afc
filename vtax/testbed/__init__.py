"""Where a measurement takes place: hosts, the links between them, and the ports of guests."""
