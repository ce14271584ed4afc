"""Kind `echo`: the modules of vtax.campaign that only it has."""
