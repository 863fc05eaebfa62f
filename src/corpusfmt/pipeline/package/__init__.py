"""Internal: Stage `package`: the documents that stay, in their order, as the files of a release."""
