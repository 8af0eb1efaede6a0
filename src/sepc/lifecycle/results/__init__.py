"""Results as pictures and pages: one description of a chart, drawn by matplotlib or as SVG."""
