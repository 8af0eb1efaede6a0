"""What owners of a model see and do: figures, alarms, challengers, and changes that two people agree on."""
