"""CRO6xx: the files behind the description (--data)."""
