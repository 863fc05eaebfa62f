"""Internal: Statistics of a corpus: what it contains, in one pass, and how much of it could be counted.

`measuring` measures texts, `sketch` keeps numbers for quantiles, `sizes` has counts that add up, `count` is the task that reads some
shards. `result` is the outcome, `render` prints it, `run` combines all of them and finds repeats. `domains` counts registered
domains.
"""
