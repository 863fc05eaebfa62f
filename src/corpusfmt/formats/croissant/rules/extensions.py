"""Internal: CRO8xx: other vocabularies in descriptions: RAI, GeoCroissant, PROV-O, ODRL, DUO and Tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corpusfmt.formats.croissant.model.graph import Dataset, Description, Term
from corpusfmt.formats.croissant.model.nodes import Node, local_name
from corpusfmt.formats.croissant.model.shapes import VOCABULARIES
from corpusfmt.formats.croissant.model.wording import article, clip, one_of
from corpusfmt.formats.croissant.rules.dataset import date_fault
from corpusfmt.formats.croissant.ruleset import RULES, WARNING
from corpusfmt.model import Problem, Severity

_TASKS = "croissant-tasks"
_ODRL = "croissant-1.1#fine-grained-control-with-odrl"
_USES = "croissant-1.1#using-duo-to-represent-data-use-conditions"


@RULES.rule(
    "CRO801", "extension-not-claimed", on=Dataset, spec="croissant-geo-1.0", severity=WARNING,
    grades={"minor": Severity.INFO, "1.0": None},
)  # fmt: skip
def extension_not_claimed(dataset: Dataset) -> Iterator[Problem]:
    """The dataset uses terms of RAI or GeoCroissant, but `conformsTo` does not name that specification. Info for RAI,
    which few datasets claim; not reported in version 1.0, where `conformsTo` has one value.

    Why: both specifications say that datasets "must declare" it; catalogues look for the claim.
    Example: `rai:dataBiases`, and `conformsTo` contains only the version of Croissant.
    Fix: make `conformsTo` a list, with `http://mlcommons.org/croissant/RAI/1.0` or `http://mlcommons.org/croissant/geo/1.0`.
    """
    claims = {value.iri for value in dataset.all("dct:conformsTo")}
    for prefix, vocabulary in VOCABULARIES.items():
        used = next((name for name in dataset.node.values if name in vocabulary.properties), None)
        if used is not None and vocabulary.version not in claims and claims:
            claim = f"`{vocabulary.version}`"
            message = f"`{dataset.key(used)}` is a term of {vocabulary.owner}, but `conformsTo` lacks {claim}"
            yield Problem(message, dataset.place(used), f"add {claim} to `conformsTo`", minor=prefix == "rai")


@RULES.rule("CRO802", "extension-class-unknown", on=Description, severity=WARNING, spec="croissant-geo-1.0")
def extension_class_unknown(description: Description) -> Iterator[Problem]:
    """A class does not exist in its vocabulary, such as GeoCroissant.

    Why: readers do not recognise the node.
    Example: `"@type": "geocr:Bands"`.
    Fix: write a class of the vocabulary, such as `geocr:BandConfiguration`.
    """
    if not any(name.startswith(("rai:", "geocr:")) for name in description.names):
        return
    for node in description.expansion.every:
        for kind in node.types:
            vocabulary = VOCABULARIES.get(kind.partition(":")[0])
            if vocabulary is not None and kind not in vocabulary.classes:
                known = one_of(sorted(vocabulary.classes)) if vocabulary.classes else "a class of another vocabulary"
                hint = description.near_misses.hint(kind, sorted(vocabulary.classes), f"write {known}")
                at = description.places.of(f"{node.pointer}/@type")
                yield Problem(f"{vocabulary.owner} has no class `{kind}`", at, hint)


def _absent(term: Term, code: str) -> Iterator[Problem]:
    """Yield the missing properties that a rule with this code reports."""
    for row in term.missing(code):
        message = f"{article(local_name(term.shape.name))} has no `{local_name(row.name)}`"
        yield Problem(message, term.at, f"add `{row.name}`")


@RULES.rule("CRO803", "policy-incomplete", on=Term, severity=WARNING, spec=_ODRL)
def policy_incomplete(term: Term) -> Iterator[Problem]:
    """An ODRL policy is incomplete: an Offer has no permissions, a Permission no action, a Constraint no operator or operand.

    Why: tools cannot evaluate whether a use is allowed.
    Example: an `odrl:Constraint` with an operator and no `odrl:rightOperand`.
    Fix: add the missing part.
    """
    yield from _absent(term, "CRO803")
    if term.shape.name == "odrl:Offer" and not any(term.all(row.name) for row in term.shape.properties):
        known = one_of([row.name for row in term.shape.properties])
        yield Problem(f"an Offer has no {known}", term.at, "add `odrl:permission`")


_DUO = "http://purl.obolibrary.org/obo/DUO_"
_DUO_CODE = r"(?:DUO[_:]|duo:|http://purl\.obolibrary\.org/obo/DUO_)(\d{7})"


@RULES.rule("CRO804", "use-condition-mismatch", on=Dataset, severity=WARNING, spec=_USES)
def use_condition_mismatch(dataset: Dataset) -> Iterator[Problem]:
    """The code of a data use condition is not a DUO code, or its URL has another code.

    Why: tools compare the code or the URL, and confuse two conditions.
    Example: `"termCode": "DUO_42"`; `"termCode": "DUO_0000042"` with `"url": "duo:0000018"`.
    Fix: write the code and the URL of the same term, such as `DUO_0000042`.
    """
    for value in dataset.all("sc:usageInfo"):
        node = dataset.description.resolve(value) if isinstance(value, Node) else None
        if node is None or "sc:DefinedTerm" not in node.types:
            continue
        codes = [each for each in node.literals("sc:termCode") if isinstance(each.value, str)]
        urls = [url for each in node.values.get("sc:url", ()) if (url := each.iri)]
        in_urls = {match.group(1) for url in urls if (match := re.fullmatch(_DUO_CODE, url))}
        for code in codes:
            match = re.fullmatch(_DUO_CODE, code.value)
            if match is None and code.value.upper().startswith("DUO"):
                message = f"`termCode` is `{clip(code.value)}`, expected `DUO_` and seven digits"
                yield Problem(message, dataset.place(code), "write a code such as `DUO_0000042`")
            elif match is not None and in_urls and match.group(1) not in in_urls:
                message = f"`termCode` is `{code.value}`, but `url` names `DUO_{min(in_urls)}`"
                yield Problem(message, dataset.place(code), f"write `{_DUO}{match.group(1)}`, or the other code")


@RULES.rule("CRO805", "activity-date", on=Term, severity=WARNING, spec="croissant-1.1#provenance-representation")
def activity_date(term: Term) -> Iterator[Problem]:
    """A time of an activity is not ISO 8601.

    Why: readers fail to parse the time.
    Example: `"prov:startedAtTime": "last spring"`.
    Fix: write `YYYY-MM-DDThh:mm:ssZ`, or only the date.
    """
    for row in term.shape.properties:
        for literal in term.texts(row.name) if row.kinds == ("Date",) else ():
            if date_fault(literal.value):
                message = f"`{term.key(row.name)}` is `{clip(literal.value)}`, expected an ISO 8601 date"
                yield Problem(message, term.place(literal), "write `YYYY-MM-DDThh:mm:ssZ`")


@RULES.rule("CRO811", "task-property-missing", on=Term, spec=_TASKS)
def task_property_missing(term: Term) -> Iterator[Problem]:
    """A task lacks a required property: a solution its problem, an evaluation its solution, a result its metric or value.

    Why: the parts of the task are not linked.
    Example: a `cr:TaskSolution` without `sc:isBasedOn`.
    Fix: add the property.
    """
    yield from _absent(term, "CRO811")


# The placeholder of each property for something concrete.
_SPECS = {
    "cr:input": "cr:InputSpec",
    "cr:output": "cr:OutputSpec",
    "cr:implementation": "cr:ImplementationSpec",
    "cr:evaluation": "cr:EvaluationSpec",
}


def _specs(term: Term, *names: str) -> Iterator[tuple[str, Node]]:
    """Yield the values of properties that are their Spec."""
    for name in names:
        for value in term.all(name):
            node = term.description.resolve(value)
            if node is not None and _SPECS[name] in node.types:
                yield name, node


@RULES.rule("CRO812", "task-without-spec", on=Term, spec=_TASKS)
def task_without_spec(term: Term) -> Iterator[Problem]:
    """A TaskProblem leaves nothing open: neither its input nor its output or implementation is a Spec.

    Why: a problem is an incomplete task; the Spec describes what a solution must provide.
    Example: a `cr:TaskProblem` whose input, output and implementation are all concrete.
    Fix: write a `cr:InputSpec`, `cr:OutputSpec` or `cr:ImplementationSpec`, or make it a `cr:Task`.
    """
    if term.shape.name == "cr:TaskProblem" and not any(_specs(term, "cr:input", "cr:output", "cr:implementation")):
        message = "a TaskProblem has no Spec in `input`, `output` or `implementation`"
        yield Problem(message, term.at, "add a Spec of what a solution must provide")


@RULES.rule("CRO813", "solution-not-concrete", on=Term, spec=_TASKS)
def solution_not_concrete(term: Term) -> Iterator[Problem]:
    """A TaskSolution leaves something open: it has a Spec, or neither it nor each of its subtasks has an
    implementation.

    Why: a solution provides what the problem leaves open.
    Example: a `cr:TaskSolution` whose output is a `cr:OutputSpec`.
    Fix: write the concrete dataset, code or evaluation.
    """
    if term.shape.name != "cr:TaskSolution":
        return
    for name, node in _specs(term, *_SPECS):
        kinds = " and ".join(local_name(kind) for kind in node.types)
        message = f"`{term.key(name)}` of a TaskSolution is {article(kinds)}, expected something concrete"
        yield Problem(message, term.place(name), "write the concrete dataset, code or evaluation")
    if term.all("cr:implementation"):
        return
    tasks = [term.description.resolve(value) for value in term.all("cr:subTask")]
    if not tasks or not all(node is not None and _is_implemented(term.description, node) for node in tasks):
        message = "a TaskSolution has no `implementation`, and not every `subTask` has one"
        yield Problem(message, term.at, "add `cr:implementation`")


def _is_implemented(description: Description, node: Node) -> bool:
    found = [description.resolve(value) for value in node.values.get("cr:implementation", ())]
    return any(each is None or _SPECS["cr:implementation"] not in each.types for each in found)
