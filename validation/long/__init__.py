"""What takes longer than `make validate`: measured a sitting at a time, into a file of the tree that grows."""
