"""Scripts behind the figures in the documentation; each is run with `python -m sepc_benchmarks.NAME`."""
