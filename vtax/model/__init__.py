"""What is shown of a result, whatever the workload: cells, their values by block, and the numbers formed of them."""
