"""The public names of both packages, in one form; the TypeScript half is read by its compiler.

Names are Python's: TypeScript's are turned into snake_case. A parameter that may be left out ends
in `?`. Public is what `__all__` or `export` names, and in a class what has no leading underscore
or `#`.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

from contract import PYTHON_SOURCES, TOP, Json, find_node

__all__ = [
    "Member",
    "Module",
    "Name",
    "Signature",
    "Surface",
    "python_surface",
    "typescript_surface",
]


@dataclass
class Signature:
    """How a thing is called. `options` are Python's keyword-only ones, or an options object's."""

    positional: list[str] = field(default_factory=list[str])
    options: list[str] = field(default_factory=list[str])
    overloads: list[list[str]] = field(default_factory=list[list[str]])


@dataclass
class Member:
    """What a class has: a `field`, a `getter`, a `method`, or its `constructor`."""

    name: str
    kind: str
    doc: bool
    signature: Signature | None = None


@dataclass
class Name:
    """What a file defines: a `class`, an `interface`, a `function` or a `value` (types too)."""

    name: str
    kind: str
    exported: bool
    doc: bool
    signature: Signature | None = None
    members: list[Member] = field(default_factory=list[Member])


@dataclass
class Module:
    """A file: its names in the order of the source."""

    doc: bool
    names: list[Name]
    complaint: str = ""


@dataclass
class Surface:
    """A package: its files and what its folders hand on, by path without suffix."""

    modules: dict[str, Module]
    indexes: dict[str, list[str]]


def typescript_surface() -> Surface:
    """Read the TypeScript sources."""
    script = TOP / "typescript" / "tests" / "symbols.ts"
    command = [find_node(), str(script)]
    out = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    document = json.loads(out)
    modules = {
        path: Module(module["doc"], [_typescript_name(name) for name in module["names"]])
        for path, module in document["modules"].items()
    }
    indexes = {
        path.removesuffix("index").rstrip("/"): sorted(map(snake_case, names))
        for path, names in document["indexes"].items()
    }
    return Surface(modules, indexes)


def _typescript_name(read: Json) -> Name:
    members = [
        Member(snake_case(each["name"]), each["kind"], each["doc"], _signature(each["signature"]))
        for each in read["members"]
    ]
    signature = _signature(read["signature"])
    name = snake_case(read["name"])
    return Name(name, read["kind"], read["exported"], read["doc"], signature, members)


def _signature(read: Json) -> Signature | None:
    if read is None:
        return None
    return Signature(
        [snake_case(name) for name in read["positional"]],
        [snake_case(name) for name in read["options"]],
        [[snake_case(name) for name in names] for names in read["overloads"]],
    )


def snake_case(name: str) -> str:
    """Return a TypeScript name as Python writes it; types and constants are the same in both."""
    if name[0].isupper():
        return name
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def python_surface() -> Surface:
    """Read the Python sources."""
    modules: dict[str, Module] = {}
    indexes: dict[str, list[str]] = {}
    for file in sorted(PYTHON_SOURCES.rglob("*.py")):
        path = file.relative_to(PYTHON_SOURCES).with_suffix("").as_posix()
        tree = ast.parse(file.read_text("utf-8"))
        if file.stem == "__init__":
            indexes[path.removesuffix("__init__").rstrip("/")] = sorted(_exports(tree) or [])
        elif file.stem != "__main__":  # what `python -m` runs; nothing imports it
            modules[path] = _python_module(tree)
    return Surface(modules, indexes)


def _exports(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return None


def _python_module(tree: ast.Module) -> Module:
    exports = _exports(tree)
    names = [
        name
        for node, after in zip(tree.body, [*tree.body[1:], None], strict=True)
        for name in _python_name(node, after, exports or [])
    ]
    doc = ast.get_docstring(tree) is not None
    if exports is None:
        return Module(doc, names, "has no __all__")
    return Module(doc, names, "" if exports == sorted(set(exports)) else "has an unsorted __all__")


def _python_name(node: ast.stmt, after: ast.stmt | None, exports: list[str]) -> Iterator[Name]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if "overload" not in _decorators(node):
            exported, signature = node.name in exports, _python_signature(node.args)
            yield Name(node.name, "function", exported, _has_doc(node), signature)
    elif isinstance(node, ast.ClassDef):
        members = [*_fields(node), *_methods(node)]
        yield Name(node.name, "class", node.name in exports, _has_doc(node), members=members)
    elif (name := _assigned(node)) and name != "__all__":
        # A string right after an assignment is its docstring, by convention.
        doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        yield Name(name, "value", name in exports, doc)


def _assigned(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    return ast.unparse(node.target) if isinstance(node, ast.AnnAssign) else ""


def _fields(node: ast.ClassDef) -> Iterator[Member]:
    """Yield the fields: those of the class's body, then those that `__init__` sets."""
    names = [name for each in node.body if (name := _assigned(each))]
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            assigned = [
                name
                for inner in ast.walk(each)
                if isinstance(inner, ast.stmt) and (name := _assigned(inner))
            ]
            names += [name.removeprefix("self.") for name in assigned if name.startswith("self.")]
    methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    for name in dict.fromkeys(names):
        if not name.startswith("_") and name not in methods:
            yield Member(name, "field", doc=False)


def _methods(node: ast.ClassDef) -> Iterator[Member]:
    for each in node.body:
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators, signature = _decorators(each), _python_signature(each.args)
        if "overload" in decorators or f"{each.name}.setter" in decorators:
            continue  # what follows or stands before says it all
        if "staticmethod" not in decorators:
            signature.positional = signature.positional[1:]
        if each.name == "__init__":
            yield Member("constructor", "constructor", doc=False, signature=signature)
        elif "property" in decorators:
            yield Member(each.name, "getter", _has_doc(each))
        elif not each.name.startswith("_"):
            yield Member(each.name, "method", _has_doc(each), signature)


def _python_signature(args: ast.arguments) -> Signature:
    positional = [each.arg for each in [*args.posonlyargs, *args.args]]
    required = len(positional) - len(args.defaults)
    return Signature(
        [name if i < required else f"{name}?" for i, name in enumerate(positional)],
        [
            each.arg if default is None else f"{each.arg}?"
            for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        ],
    )


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {ast.unparse(each) for each in node.decorator_list}


def _has_doc(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return ast.get_docstring(node) is not None
