"""Internal: The datasheet of a corpus: what it is, how much, of what, checked by whom and made of what.

`content` collects it from the statistics, the description, the manifest and a report; `web` makes a page of it, and `eu` the fields
of a public summary of training content.
"""
