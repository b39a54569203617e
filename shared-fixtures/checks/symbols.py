"""Compares the public API of both packages: files, names, members, parameters, their order, docs.

What is idiomatic in each language is no difference:

- snake_case and camelCase; types and constants are written alike.
- Python's keyword-only parameters are the fields of one TypeScript options object, the last
  parameter. A constructor's object may also hold what Python takes by position too, in that order.
- An interface of such options (`…Options`) has no Python twin.
- A getter and a plain field are alike to whoever reads them.
- TypeScript interfaces have no code: a dataclass's property or method is there a function of the
  same file that takes the value first, exported only if other files use it.
- A field's doc comment may stand in the class's own.

All else needs an entry in `differences.json`, and an entry that no longer says anything true fails.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile

from contract import Difference, differences, report
from surface import Member, Module, Name, Signature, Surface, python_surface, typescript_surface

__all__ = ["main"]


class Comparison:
    """Two surfaces side by side; `problems` are the differences that have no reason."""

    def __init__(self, python: Surface, typescript: Surface, reasoned: list[Difference]) -> None:
        self.problems: list[str] = []
        self.twins = 0
        self._only = {entry["symbol"]: entry["only"] for entry in reasoned}
        self._used: set[str] = set()
        for path in self._common("", sorted(python.modules), sorted(typescript.modules)):
            self._compare_modules(path, python.modules[path], typescript.modules[path])
        for folder in sorted({*python.indexes, *typescript.indexes}):
            names = [index.indexes.get(folder, []) for index in (python, typescript)]
            self._common(f"{folder}/index:".lstrip("/"), names[0], without_options(names[1]))
        for symbol in sorted(set(self._only) - self._used):
            if not symbol.startswith("cases:"):
                self.problems.append(f"{symbol}: is no difference; take it out of differences.json")

    def _common(self, prefix: str, python: Sequence[str], typescript: Sequence[str]) -> list[str]:
        """Return what both have, in Python's order; note what one has alone."""
        for name in python:
            if name not in typescript:
                self._missing(prefix + name, "python")
        for name in typescript:
            if name not in python:
                self._missing(prefix + name, "typescript")
        both = [name for name in python if name in typescript]
        self.twins += len(both)
        return both

    def _missing(self, symbol: str, only: str) -> None:
        parts = symbol.split("/")
        folders = {"/".join(parts[:i]) + "/" for i in range(1, len(parts))}
        reasons = [name for name in (symbol, *folders) if self._only.get(name) == only]
        self._used.update(reasons)
        if not reasons:
            entry = json.dumps({"symbol": symbol, "only": only, "reason": "…"}, ensure_ascii=False)
            self.problems.append(
                f"{symbol}: only {only} has it; write its twin, or the reason: {entry}"
            )

    def _order(self, where: str, python: Iterable[str], typescript: Iterable[str]) -> None:
        left, right = list(python), list(typescript)
        both = [name for name in left if name in right]
        there = [name for name in right if name in left]
        if both != there:
            same = len(
                list(takewhile(lambda pair: pair[0] == pair[1], zip(both, there, strict=True)))
            )
            found = f"python has {both[same]} where typescript has {there[same]}"
            self.problems.append(f"{where}: the order differs: {found}")

    def _docs(self, where: str, *, python: bool, typescript: bool) -> None:
        if python != typescript:
            lacking = "typescript" if python else "python"
            self.problems.append(
                f"{where}: has no doc comment in {lacking}; write it in both or none"
            )

    def _compare_modules(self, path: str, python: Module, typescript: Module) -> None:
        if python.complaint:
            self.problems.append(f"{path}.py: {python.complaint}; list what other files may import")
        self._docs(path, python=python.doc, typescript=typescript.doc)
        left = {name.name: name for name in python.names if name.exported}
        there = {name.name: name for name in typescript.names}
        freed = {
            member.name
            for name in left.values()
            for member in code_of_interface(name, there.get(name.name))
        }
        right = {name: each for name, each in there.items() if each.exported and name not in freed}
        names = without_options(right)
        for name in self._common(f"{path}:", list(left), names):
            self._compare_names(f"{path}:{name}", left[name], right[name], there)
        self._order(path, left, names)

    def _compare_names(
        self, where: str, python: Name, typescript: Name, there: dict[str, Name]
    ) -> None:
        # An interface without members (an index signature alone) is a type like any alias.
        plain = "class" if typescript.members else "value"
        kinds = (python.kind, typescript.kind.replace("interface", plain))
        if kinds[0] != kinds[1]:
            self.problems.append(f"{where}: is a {kinds[0]} in python, a {kinds[1]} in typescript")
        self._docs(where, python=python.doc, typescript=typescript.doc)
        self._compare_signatures(where, python.signature, typescript.signature)
        code = code_of_interface(python, typescript)
        for member in code:
            self._compare_function(f"{where}.{member.name}", member, there.get(member.name))
        left = {member.name: member for member in python.members if member not in code}
        right = {member.name: member for member in typescript.members}
        for name in self._common(f"{where}.", list(left), list(right)):
            self._compare_members(f"{where}.{name}", left[name], right[name])
        fields = {
            name for name in left if "field" in (left[name].kind, right.get(name, left[name]).kind)
        }
        self._order(where, *([n for n in names if n in fields] for names in (left, right)))
        self._order(where, *([n for n in names if n not in fields] for names in (left, right)))

    def _compare_members(self, where: str, python: Member, typescript: Member) -> None:
        if (python.signature is None) != (typescript.signature is None):
            self.problems.append(f"{where}: is a {python.kind} in python, a {typescript.kind} here")
        if "field" not in (python.kind, typescript.kind):
            self._docs(where, python=python.doc, typescript=typescript.doc)
        right = typescript.signature
        if python.kind == "constructor" and python.signature and right and not right.positional:
            # `new MemoryManager({ systemPrompt, maxTurns })`: by name what Python takes either way.
            names = python.signature.positional + python.signature.options
            self._compare_signatures(where, Signature([], names), right)
        else:
            self._compare_signatures(where, python.signature, right)

    def _compare_function(self, where: str, member: Member, function: Name | None) -> None:
        """Compare a dataclass's property or method with the function that stands for it."""
        if function is None or function.signature is None:
            self._missing(where, "python")
            return
        self.twins += 1
        self._docs(where, python=member.doc, typescript=function.doc)
        takes = function.signature
        # Without a first parameter by name, the value itself is taken apart where the options are.
        rest = Signature(takes.positional[1:], takes.options if takes.positional else [])
        self._compare_signatures(where, member.signature or Signature(), rest)

    def _compare_signatures(
        self, where: str, python: Signature | None, typescript: Signature | None
    ) -> None:
        if python is None or typescript is None:
            return
        if python.positional != typescript.positional:
            left, right = ", ".join(python.positional), ", ".join(typescript.positional)
            self.problems.append(f"{where}: takes ({left}) in python, ({right}) in typescript")
        left, right = map(optional_flags, (python.options, typescript.options))
        for name in self._common(f"{where}.", list(left), list(right)):
            if left[name] != right[name]:
                required = "typescript" if left[name] else "python"
                self.problems.append(f"{where}: {name} may not be left out in {required}")
        self._order(where, left, right)
        everything = list(optional_flags(python.positional + python.options))
        for overload in typescript.overloads:
            names = list(optional_flags(overload))
            if names != everything[: len(names)]:
                self.problems.append(
                    f"{where}: may be called with ({', '.join(names)}) there alone"
                )


def code_of_interface(python: Name, typescript: Name | None) -> list[Member]:
    """Return the properties and methods whose TypeScript twins are functions."""
    if typescript is None or typescript.kind != "interface":
        return []
    declared = {member.name for member in typescript.members}
    return [
        member
        for member in python.members
        if member.kind in ("getter", "method") and member.name not in declared
    ]


def without_options(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.endswith("Options")]


def optional_flags(parameters: Iterable[str]) -> dict[str, bool]:
    return {name.removesuffix("?"): name.endswith("?") for name in parameters}


def main() -> int:
    """Compare both packages as they are; returns the exit status."""
    comparison = Comparison(python_surface(), typescript_surface(), differences())
    return report(
        comparison.problems, f"{comparison.twins} names are in both languages, name for name"
    )


if __name__ == "__main__":
    sys.exit(main())
