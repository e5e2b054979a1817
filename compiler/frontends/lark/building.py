"""Lark's builder of definitions, with our own reading of the text, of imported files too, and without copies of what is read.

What a definition, an import, `%extend` or `%override` means is Lark's to say: its methods are called, in its order. `load_grammar`
and `do_import` are Lark's but for the reading, and for the builder of imported files, which is this one.

Cost: 1 us a character.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from typing import Any, Final

from lark.exceptions import GrammarError as LarkGrammarError
from lark.exceptions import UnexpectedInput
from lark.grammar import Symbol
from lark.load_grammar import (
    EXT,
    GrammarBuilder,
    PrepareGrammar,
    _get_mangle,
    _get_parser,
    resolve_term_references,
    sha256_digest,
    stdlib_loader,
)
from lark.tree import Tree

from psc._core import stop_if_cancelled
from psc.compiler.frontends.lark.imports import MAX_IMPORTED_BYTES, may_import
from psc.compiler.frontends.lark.places import Places
from psc.compiler.frontends.lark.syntax import NotRead, read_statements
from psc.compiler.frontends.lark.wording import cannot_be_read, no_file, unexpected
from psc.errors import GrammarError, ResourceLimitError
from psc.support.regular_file import FileOrigin, read_regular_text

Mangle = Callable[[str], str]
_OF_THE_MACHINE: Final = {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETIMEDOUT}
"""Errors that say nothing of whether a file is there."""


def _statements(text: str, name: str) -> Tree[Any]:
    """The statements of a text. Raises GrammarError with the first thing that is wrong."""
    try:
        return read_statements(text)
    except NotRead as e:
        if not e.given_to_lark:
            raise cannot_be_read(e.position, Places(text, name)) from None
    try:
        return _read_by_lark(text)
    except UnexpectedInput as e:
        raise unexpected(e, Places(text, name)) from None


def _read_by_lark(text: str) -> Tree[Any]:
    """What Lark's parser makes of a text, token by token, so that it can be called off."""
    parsing = _get_parser().parse_interactive(text + "\n", "start")  # type: ignore[no-untyped-call]
    last = None
    for token in parsing.iter_parse():
        stop_if_cancelled()
        last = token
    tree: Tree[Any] = _Preparing().transform(parsing.feed_eof(last))
    return tree


class _Preparing(PrepareGrammar):
    """Lark's preparation of a tree, which looks at each node whether it is called off."""

    def _call_userfunc(self, *arguments: Any) -> Any:
        stop_if_cancelled()
        return super()._call_userfunc(*arguments)  # type: ignore[no-untyped-call]

    def _call_userfunc_token(self, token: Any) -> Any:
        stop_if_cancelled()
        return super()._call_userfunc_token(token)  # type: ignore[no-untyped-call]


_DEFINED: Final = re.compile(r"^[?!]*(\w+)(?=[ \t]*[:.{])", re.M)


class DefinitionBuilder(GrammarBuilder):
    """Lark's builder over `read_statements`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.missing: dict[str, tuple[str, str, list[str]]] = {}
        """Names that were imported from a file which has them not: the file, the name there, and what the file has."""

    def load_grammar(self, grammar_text: str, grammar_name: str = "<?>", mangle: Mangle | None = None) -> None:
        """Reads a text and what it imports. Raises what Lark raises."""
        tree = _statements(grammar_text, str(grammar_name))
        imports: dict[tuple[str, ...], tuple[Any, dict[str, str]]] = {}
        for statement in tree.children:
            stop_if_cancelled()
            if statement.data == "import":
                path, base, aliases = self._unpack_import(statement, grammar_name)
                known = imports.setdefault(path, (base, {}))
                assert known[0] == base, f"Inconsistent base_path for {'.'.join(path)}."
                known[1].update(aliases)
        for path, (base, aliases) in imports.items():
            stop_if_cancelled()
            try:
                self.do_import(path, base, aliases, mangle)
            except FileNotFoundError:
                raise no_file(path, base is None, Places(grammar_text, str(grammar_name))) from None
        for statement in tree.children:
            self._add(statement, mangle)
        resolve_term_references({name: d.tree for name, d in self._definitions.items() if d.is_term})  # type: ignore[no-untyped-call]

    def _add(self, statement: Any, mangle: Mangle | None) -> None:
        kind = statement.data
        if kind in ("term", "rule"):
            self._define(*self._unpack_definition(statement, mangle))  # type: ignore[no-untyped-call]
        elif kind == "override":
            self._define(*self._unpack_definition(statement.children[0], mangle), override=True)  # type: ignore[no-untyped-call]
        elif kind == "extend":
            self._extend(*self._unpack_definition(statement.children[0], mangle))  # type: ignore[no-untyped-call]
        elif kind == "ignore":
            if mangle is None:  # what an imported file ignores is no matter
                self._ignore(*statement.children)  # type: ignore[no-untyped-call]
        elif kind == "declare":
            for symbol in statement.children:
                name = symbol.name if mangle is None else mangle(symbol.name)
                self._define(name, symbol.is_term, None)  # type: ignore[no-untyped-call]
        else:
            assert kind == "import", kind

    def do_import(
        self, dotted_path: tuple[str, ...], base_path: Any, aliases: dict[str, str], base_mangle: Mangle | None = None
    ) -> None:
        """Adds what is imported from a file. Raises what Lark raises."""
        assert dotted_path
        mangle = _get_mangle("__".join(dotted_path), aliases, base_mangle)  # type: ignore[no-untyped-call]
        file = os.path.join(*dotted_path) + EXT
        found = self._imported(file, base_path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
        path, text = found
        digest = sha256_digest(text)
        if self.used_files.get(path, digest) != digest:
            raise RuntimeError("Grammar file was changed during importing")
        self.used_files[path] = digest
        # Not of the class of self: of an imported file only what is asked for counts.
        builder = DefinitionBuilder(self.global_keep_all_tokens, self.import_paths, self.used_files)
        builder.load_grammar(text, FileOrigin(path) if isinstance(path, str) else path, mangle)
        for name in aliases:
            if mangle(name) not in builder._definitions:
                self.missing[mangle(name)] = file, name, _DEFINED.findall(text)
        self.missing.update(builder.missing)
        builder._remove_unused(map(mangle, aliases))  # type: ignore[no-untyped-call]
        for name in builder._definitions:
            if name in self._definitions:
                raise LarkGrammarError(f"Cannot import '{name}' from '{file}': Symbol already defined.")
        self._definitions.update(builder._definitions)

    def _unpack_import(self, stmt: Tree[Any], grammar_name: Any) -> Any:
        """As Lark's, but that text without a file imports none: Lark looks beside the program that runs, or where a label leads."""
        if not may_import(grammar_name) and stmt.children[0].data != "import_lib":
            imported = ".".join(map(str, stmt.children[0].children))
            raise GrammarError(
                f"{grammar_name}: %import .{imported}: text that is from no file has none beside it; say which file it is from "
                "(source_name), or write the rules out"
            )
        return super()._unpack_import(stmt, grammar_name)  # type: ignore[no-untyped-call]

    def _imported(self, file: str, base_path: Any) -> tuple[Any, str] | None:
        """An imported file, as it is called and as it reads; None where there is none."""
        for source in [*self.import_paths, *([] if base_path is None else [base_path]), stdlib_loader]:
            try:
                if callable(source):
                    return source(base_path, file)  # type: ignore[no-any-return]
                path = os.path.join(source, file)
                return path, read_regular_text(path, MAX_IMPORTED_BYTES)
            except OSError as e:
                if e.errno in _OF_THE_MACHINE or (e.errno is None and type(e) is not OSError):  # Lark's own have neither
                    raise
                if e.errno == errno.EFBIG:
                    raise ResourceLimitError(f"{file}: the imported file is {e.strerror}, which is the limit") from None
        return None

    def _unpack_definition(self, tree: Tree[Any], mangle: Mangle | None) -> tuple[Any, bool, Tree[Any], tuple[str, ...], Any]:
        """As Lark's, but that names in the tree are changed in place: nobody else has it."""
        name, is_term, body, parameters, options = super()._unpack_definition(tree, None)  # type: ignore[no-untyped-call]
        if mangle is None:
            return name, is_term, body, parameters, options
        todo = [body]
        while todo:
            children = todo.pop().children
            for i, child in enumerate(children):
                if isinstance(child, Symbol):
                    children[i] = child.renamed(mangle)  # type: ignore[no-untyped-call]
                elif isinstance(child, Tree):
                    todo.append(child)
        return mangle(name), is_term, body, tuple(mangle(p) for p in parameters), options

    def validate(self) -> None:
        """Raises Lark's error where a name is used that is not defined, or a template is used or defined in a wrong way."""
        if not self._certainly_valid():
            super().validate()

    def _certainly_valid(self) -> bool:
        """Whether every name is defined, and templates have their parameters. Lark looks at each name often."""
        defined = self._definitions
        names: set[str] = set()
        walked: set[int] = set()  # terminals of imported files have the trees of others inside, each time they refer to them
        for d in defined.values():
            if len(set(d.params)) < len(d.params) or not defined.keys().isdisjoint(d.params):
                return False
            if d.tree is None:
                continue
            used = set() if d.params else names
            todo: list[Any] = [child.children[0] if child.data == "alias" else child for child in d.tree.children]
            for node in todo:  # grows while it is read
                if node.data == "alias":
                    return False
                if id(node) in walked:
                    continue
                walked.add(id(node))
                if node.data == "template_usage" and not self._has_arguments(node, d.params):
                    return False
                for child in node.children:
                    if isinstance(child, Tree) and child.data == "value":
                        (child,) = child.children
                    if isinstance(child, Symbol):
                        used.add(child.name)
                    elif isinstance(child, Tree) and child.data != "literal":
                        todo.append(child)
            if d.params:
                names |= used.difference(d.params)
        return names <= defined.keys() and defined.keys() >= set(self._ignore_names)

    def _has_arguments(self, use: Tree[Any], parameters: tuple[str, ...]) -> bool:
        """Whether the use of a template gives an argument for each of its parameters."""
        name: Any = use.children[0]
        of = self._definitions.get(name.name)
        return name.name in parameters or (of is not None and len(of.params) == len(use.children) - 1)
