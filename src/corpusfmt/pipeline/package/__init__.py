"""Internal: Stage `package`: write the kept documents, in order, as the files of a release."""
