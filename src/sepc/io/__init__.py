"""The model file: one safetensors file with JSON in its metadata, and never a pickle."""
