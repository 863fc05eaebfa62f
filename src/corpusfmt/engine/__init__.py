"""Internal: Plan, map, reduce: the one seam that `validate`, `convert` and `build` share."""
