"""Internal: Rebuild some inputs of a release, and compare what they contributed with its files, line by line.

`request` says what is rebuilt, `rebuild` runs the stages of the pipeline on it, `parts` reads lines of either side, `locate`
finds where the contribution of an input begins, `compare` reports the differences, `run` puts them together.
"""
