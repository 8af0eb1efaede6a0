"""The command `sepc-desk`."""
