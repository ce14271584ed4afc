"""Results with made-up numbers, written through the real writer, by the kind of their workload."""
