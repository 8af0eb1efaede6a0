"""Tables in files: CSV, Parquet and Excel, read in batches."""
