"""Parts of the suites `scale` and `service`."""
