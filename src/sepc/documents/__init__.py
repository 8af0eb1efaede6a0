"""A document and its charts as plain data, and what writes them as a page, as text, as Markdown and with matplotlib."""
