"""The data that plots and reports share."""
