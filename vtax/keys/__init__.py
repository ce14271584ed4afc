"""What the keys of scenarios have in common: fields, the keys of testbeds and of any workload, and a grid's cell."""
