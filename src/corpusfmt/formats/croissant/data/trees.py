"""Internal: The tree of a record set's sources: one gives the records, the others are joined to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from corpusfmt.formats.croissant.data.batches import NotRead
from corpusfmt.formats.croissant.data.leaves import Leaf, leaf_from, leaf_of, of_field, source_of
from corpusfmt.formats.croissant.model.graph import DataSource, Field, FileObject, FileSet, RecordSet, Resource

Origin = Resource | RecordSet


class Tree(Struct, eq=False):
    """A source, its leaves, and the sources joined to it."""

    origin: Origin
    leaves: list[Leaf] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)

    def everything(self) -> Iterator[Leaf]:
        """Yield the leaves of this source and of its joins, without the leaves of nested records."""
        yield from self.leaves
        for join in self.joins:
            if join.container is None:
                yield from join.tree.everything()


class Join(Struct, eq=False):
    """A source that is looked up: the records of `tree` whose `remote` value equals the `local` one.

    Each match makes a record; with a `container` field, the matches are its list of nested records. A join that
    `follows` a reference must find a match; a join against the reference may find none.
    """

    local: Leaf
    remote: Leaf
    tree: Tree
    container: Field | None = None
    follows: bool = True


class RecordPlan(Struct, eq=False):
    """How to make the records of a record set: its tree, and the leaf of each field with values."""

    record_set: RecordSet
    tree: Tree
    leaf: dict[int, Leaf]
    nested: dict[int, Join]

    def leaf_of(self, each: Field) -> Leaf | None:
        """Return the leaf of a field, None for a field that consists of others."""
        return self.leaf.get(id(each))


class Edge(Struct, frozen=True, eq=False):
    """A reference: the values of one leaf occur in another."""

    local: Leaf
    remote: Leaf


def plan_records(record_set: RecordSet, wanted: Iterable[Field] | None = None) -> RecordPlan:
    """Return how to make the records of a record set, or only their wanted values.

    Raises `NotRead` if the description is incomplete.
    """
    builder = _Builder(record_set)
    for each in record_set.fields if wanted is None else wanted:
        builder.add(each, builder.leaves)
    return builder.plan()


def references_of(each: Field, leaf: Leaf) -> Iterator[Edge]:
    """Yield the references of a field: to a field, and to the source of that field."""
    for reference in each.references:
        if reference is source_of(each):
            continue
        yield from (Edge(leaf, remote) for remote in _remotes(each, reference))


def _remotes(each: Field, reference: DataSource) -> Iterator[Leaf]:
    for target in reference.target_views:
        if isinstance(target, Field):
            if target.record_set is not None:
                yield of_field(target)
            if target.sources:
                beyond = leaf_of(target)
                if isinstance(beyond.origin, FileObject | FileSet):
                    yield beyond
        elif isinstance(target, Resource) and reference.extracts:
            yield leaf_from(each, reference)


def referring_parents(record_set: RecordSet) -> Iterator[Leaf]:
    """Yield the sources of `parentField` that refer to a field, except those that only repeat a reference.

    If `ratings/film` references `films/id`, a parentField that joins it to values taken from `films/id` is a repetition.
    """
    for container in record_set.every_field:
        for parent in container.parent_fields:
            if parent.sources and parent.references and not _is_repetition(parent):
                yield leaf_from(parent, parent.sources[0])


def _is_repetition(parent: Field) -> bool:
    known = {id(target) for same in _of_same_values(parent) if same is not parent for target in _referenced(same)}
    targets = list(_referenced(parent))
    return bool(targets) and all(any(id(same) in known for same in _of_same_values(target)) for target in targets)


def _referenced(each: Field) -> Iterator[Field]:
    return (view for reference in each.references for view in reference.target_views if isinstance(view, Field))


def _of_same_values(each: Field | None) -> Iterator[Field]:
    """Yield a field, and the fields whose values it takes unchanged."""
    seen: set[int] = set()
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        source = source_of(each)
        targets = source.target_views if source is not None and not source.transforms else []
        each = next((view for view in targets if isinstance(view, Field)), None)


class _Builder:
    def __init__(self, record_set: RecordSet) -> None:
        self.record_set = record_set
        self.leaves: list[Leaf] = []
        self._by_field: dict[int, Leaf] = {}
        self._nested: list[tuple[Field, list[Leaf]]] = []
        self._edges: list[Edge] = []

    def add(self, each: Field, leaves: list[Leaf]) -> None:
        if each.sub_fields:
            below = leaves
            if each.parent_fields:
                below = []
                self._nested.append((each, below))
            for inner in each.sub_fields:
                self.add(inner, below)
            return
        if each.has_constant and not each.sources:
            return
        leaf = leaf_of(each)
        if leaf.origin is self.record_set:
            raise NotRead(f"{each.title}: the source is a field of the same record set")
        leaves.append(leaf)
        self._by_field[id(each)] = leaf
        self._edges.extend(references_of(each, leaf))

    def plan(self) -> RecordPlan:
        origins = list({id(leaf.origin): leaf.origin for leaf in self.leaves}.values())
        if not origins:
            raise NotRead(f"{self.record_set.title}: no field has a source")
        self._edges += _edges_between(origins)
        targets = {id(edge.remote.origin) for edge in self._edges if edge.remote.origin is not edge.local.origin}
        first = next((origin for origin in origins if id(origin) not in targets), origins[0])
        trees = {id(first): Tree(first)}
        pending = [origin for origin in origins if origin is not first]
        while pending:
            joined = next((origin for origin in pending if self._joined(origin, trees)), None)
            if joined is None:
                raise NotRead(f"{self.record_set.title}: the sources are not joined")
            pending.remove(joined)
        for leaf in self.leaves:
            trees[id(leaf.origin)].leaves.append(leaf)
        nested = {id(container): self._nest(container, leaves, trees) for container, leaves in self._nested}
        return RecordPlan(self.record_set, trees[id(first)], self._by_field, nested)

    def _joined(self, origin: Origin, trees: dict[int, Tree]) -> bool:
        """Add an origin below one that is already in the tree, along or against a reference."""
        for edge in self._edges:
            for local, remote in ((edge.local, edge.remote), (edge.remote, edge.local)):
                if remote.origin is origin and id(local.origin) in trees:
                    tree = trees[id(origin)] = Tree(origin)
                    follows = local is edge.local
                    trees[id(local.origin)].joins.append(Join(local, remote, tree, follows=follows))
                    return True
        return False

    def _nest(self, container: Field, leaves: list[Leaf], trees: dict[int, Tree]) -> Join:
        for parent in container.parent_fields:
            if not parent.sources:
                continue
            remote = leaf_from(parent, parent.sources[0])
            for reference in parent.references:
                for target in reference.target_views:
                    local = self._by_field.get(id(target))
                    if local is not None and all(leaf.origin is remote.origin for leaf in leaves):
                        join = Join(local, remote, Tree(remote.origin, leaves), container)
                        trees[id(local.origin)].joins.append(join)
                        return join
        raise NotRead(f"{container.title}: `parentField` does not join the source to a field of the record set")


def _edges_between(origins: Iterable[Origin]) -> Iterator[Edge]:
    """Yield the references between record sets that are sources."""
    for origin in origins:
        if isinstance(origin, RecordSet):
            for each in origin.every_field:
                if not each.sub_fields and each.references:
                    yield from references_of(each, of_field(each))
