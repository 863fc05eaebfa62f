"""Internal: What a corpus depends on besides its inputs: recipe and filters, URL lists, classifier."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from corpusfmt._version import VERSION
from corpusfmt.engine.workplace import digest
from corpusfmt.langid import Classifier
from corpusfmt.model import Json
from corpusfmt.pipeline.process.filters import AddressFilter
from corpusfmt.pipeline.process.steps import StepCode
from corpusfmt.pipeline.recipe import Recipe

#: Folder in the state for what processes share: lists of addresses, the matrix of the model.
SHARED = "lists"

#: Increase with every change of what the stages write, so that results of an older version are not reused.
CODE_FORMAT = 13


@dataclass(frozen=True)
class Choices:
    """The choices of a build; `model` is the path as given."""

    recipe: Recipe
    addresses: AddressFilter
    classifier: Classifier
    model: str | None
    steps: tuple[StepCode, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """What the results of the stages depend on."""
        return digest(
            CODE_FORMAT,
            self.recipe.of_processing,
            self.addresses.fingerprint,
            self.classifier.model_digest,
            self.classifier.backend,
            *((each.step, each.code) for each in self.steps),
        )

    @property
    def manifest(self) -> Json:
        """The choices as written to the manifest; with the same inputs they make the same corpus."""
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
            **({"functions": {each.step.name: each.code for each in self.steps}} if self.steps else {}),
        }
