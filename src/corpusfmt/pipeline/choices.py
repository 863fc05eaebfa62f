"""Internal: All that a corpus depends on besides its inputs: the recipe with its filters, lists of addresses, the
classifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from corpusfmt._version import VERSION
from corpusfmt.engine.workplace import digest
from corpusfmt.langid import Classifier
from corpusfmt.model import Json
from corpusfmt.pipeline.process.filters import AddressFilter
from corpusfmt.pipeline.recipe import Recipe

#: Changes with every change of what the stages write: what an older version left behind runs again.
CODE_FORMAT = 6


@dataclass(frozen=True)
class Choices:
    """What was chosen; `model` is the path that was given."""

    recipe: Recipe
    addresses: AddressFilter
    classifier: Classifier
    model: str | None

    @cached_property
    def fingerprint(self) -> str:
        """What the result of a stage depends on."""
        return digest(
            CODE_FORMAT,
            self.recipe.of_processing,
            self.addresses.fingerprint,
            self.classifier.model_digest,
            self.classifier.backend,
        )

    @property
    def manifest(self) -> Json:
        """What a manifest says of them: the same of the same inputs makes the same corpus."""
        recipe, classifier = self.recipe, self.classifier
        return {
            "tool": {"name": "corpusfmt", "version": VERSION, "format": CODE_FORMAT},
            "recipe": recipe.choices,
            "addresses": {
                kind: {"sha256": each.sha256, "entries": each.entries}
                for kind, each in (("allow", self.addresses.allow), ("deny", self.addresses.deny))
                if each
            },
            "model": {
                "sha256": classifier.model_digest,
                "format": classifier.model_format,
                "backend": classifier.backend,
            },
            "compressor": None if recipe.output.format == "goclassy" else recipe.output.compressor,
        }
