"""vtax beside other tools, in the same run and on the same path."""
