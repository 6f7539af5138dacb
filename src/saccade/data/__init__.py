"""Data as rows: what people have, read by libraries and divided into splits."""
