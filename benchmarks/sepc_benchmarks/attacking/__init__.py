"""Parts of the suite `attacks`."""
