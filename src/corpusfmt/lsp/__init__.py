"""Internal: The language server: findings, hover, completion and repairs of descriptions while they are edited."""
