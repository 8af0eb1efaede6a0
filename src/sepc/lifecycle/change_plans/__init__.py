"""Plans for changes of a model: what may change, on which rows that is judged, and by which criteria."""
