"""Small single changes to a module, each of which should make a test fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
# These fail at once with their arguments the other way round, which would make the tests look better than they are, or do
# not mind their order.
_NEVER_SWAPPED = {"isinstance", "issubclass", "getattr", "map", "filter", "partial", "max", "min"}
# Deleted only where the rest still has all names that it needs.
_DELETABLE = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


@dataclass(frozen=True)
class Mutant:
    """One change: `before`, from `start` to `end` in the bytes of the module, becomes `after`."""

    module: str
    line: int
    operator: str
    start: int
    end: int
    before: str
    after: str
    in_function: bool = True

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]

    def is_program(self, source: bytes) -> bool:
        try:
            compile(self.applied(source), self.module, "exec")
        except SyntaxError:
            return False
        return True


def mutants(module: str, source: bytes) -> Iterator[Mutant]:
    """Yield every mutant of a module; a few of them are no programs."""
    lines = [0]
    for line in source.split(b"\n"):
        lines.append(lines[-1] + len(line) + 1)
    tree = ast.parse(source)
    in_functions = {
        line
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for body in (function.body if isinstance(function.body, list) else [function.body])
        for line in range(body.lineno, (body.end_lineno or body.lineno) + 1)
    }
    for node, operator, after in _changes(tree):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[node.end_lineno - 1] + node.end_col_offset
        before = source[start:end].decode()
        text = ast.unparse(after)
        # A statement stays on its line; an expression may have stood without parentheses.
        text = text if isinstance(node, ast.stmt | ast.Constant | ast.JoinedStr) else f"({text})"
        yield Mutant(module, node.lineno, operator, start, end, before, text, node.lineno in in_functions)


_Change = tuple[ast.expr | ast.stmt, str, ast.AST]


def _changes(tree: ast.Module) -> Iterator[_Change]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal) or _is_list_of_names(
            node
        ):
            continue
        if isinstance(node, ast.expr | ast.stmt):
            for operator, after in _of(node):
                yield node, operator, after
        if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
            yield node.test, "boolean", ast.UnaryOp(ast.Not(), node.test)
        pending.extend(_inside(node))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is run of a node: no annotations, decorators, docstrings, bases or texts of f-strings."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases", "type_params"} or isinstance(
            node, ast.JoinedStr
        ):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and not _is_documentation(each) and not _is_for_types(each):
                yield each


def _is_documentation(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_list_of_names(node: ast.AST) -> bool:
    """Tell whether this is `__all__`, which nothing that runs looks at."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _of(node: ast.expr | ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = _COMPARISONS[type(node.ops[0])]
        yield "comparison", ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "boolean", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "boolean", node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield "arithmetic", ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.JoinedStr):
        yield "text", ast.JoinedStr([ast.Constant("XX"), *node.values])
    elif isinstance(node, ast.IfExp):
        yield "boolean", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Return) and node.value is not None and not _is_nothing(node.value):
        yield "return", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Call) and _can_be_swapped(node):
        yield "arguments", ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    if isinstance(node, _DELETABLE):
        yield "statement", ast.Pass()


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield "boundary", ast.Constant(node.value + 1)
        yield "boundary", ast.Constant(node.value - 1)
    elif isinstance(node.value, str):
        yield "text", ast.Constant(f"XX{node.value}")
    elif isinstance(node.value, bytes):
        yield "text", ast.Constant(b"XX" + node.value)


def _can_be_swapped(call: ast.Call) -> bool:
    first = call.args[:2]
    if len(first) < 2 or ast.unparse(call.func) in _NEVER_SWAPPED:
        return False
    return ast.dump(first[0]) != ast.dump(first[1]) and not any(isinstance(each, ast.Starred) for each in first)


def _is_nothing(node: ast.expr) -> bool:
    """Tell whether this is None, or False, which is as good."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)
