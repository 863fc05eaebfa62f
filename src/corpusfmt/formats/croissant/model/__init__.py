"""Internal: What a description is: its tree, its expansion to nodes, the graph of their roles, the tables of the
specification.
"""
