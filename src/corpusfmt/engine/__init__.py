"""Internal: Run tasks: the code that `validate`, `convert` and `build` share."""
