"""Internal: Operations on a finished release: seal, verify."""
