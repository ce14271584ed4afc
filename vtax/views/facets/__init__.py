"""What is made of a kind's cells beyond their metrics, a type a facet; tracing and neighbours are any kind's."""
