"""Internal: A toolkit for formats of rows: JSON Lines, one object a line, each of them a document or something
about one.
"""
