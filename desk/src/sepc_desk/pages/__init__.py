"""Pages where people decide: rendered on the server, with htmx where something moves."""
