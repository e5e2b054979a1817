"""Parses texts of C# from standard input with Roslyn, in a .NET that this Python loads; see conversation.py for the format.

    python parse_csharp.py DOTNET ROSLYN

DOTNET is the folder of a .NET, ROSLYN that of `Microsoft.CodeAnalysis.CSharp.dll`. It imports nothing of psc.

Roslyn reports three rules of the language's own grammar behind its parser. They are looked for here: an expression as a statement
is a call, an assignment or the like (CS0201), `<>` and `<,>` stand in `typeof` and `nameof` (CS7003), and nothing but `using` and
attributes is before `namespace a;` (CS8956).
"""

import json
import os
import sys
import tempfile
from importlib import import_module
from typing import Any

_STATEMENTS = frozenset({"InvocationExpression", "ObjectCreationExpression", "ImplicitObjectCreationExpression", "AwaitExpression"})
_STATEMENT_ENDINGS = "AssignmentExpression", "IncrementExpression", "DecrementExpression"


def start(dotnet: str, roslyn: str) -> None:
    """Starts the .NET. Cost: a second."""
    os.environ.setdefault("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")  # else it needs ICU
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "runtimeconfig.json")
        with open(config, "w", encoding="utf-8") as file:
            framework = {"name": "Microsoft.NETCore.App", "version": "8.0.0"}
            json.dump({"runtimeOptions": {"tfm": "net8.0", "framework": framework}}, file)
        import_module("pythonnet").set_runtime(import_module("clr_loader").get_coreclr(runtime_config=config, dotnet_root=dotnet))
        clr = import_module("clr")
    sys.path.append(roslyn)
    clr.AddReference("Microsoft.CodeAnalysis.CSharp")


class Roslyn:
    """The parser, in the newest version of the language that it has."""

    def __init__(self) -> None:
        csharp = import_module("Microsoft.CodeAnalysis.CSharp")
        syntax = import_module("Microsoft.CodeAnalysis.CSharp.Syntax")
        of_type = import_module("System.Linq").Enumerable.OfType
        self._options = csharp.CSharpParseOptions(csharp.LanguageVersion.Preview)
        self._tree, self._extensions = csharp.CSharpSyntaxTree, csharp.CSharpExtensions
        self._error = import_module("Microsoft.CodeAnalysis").DiagnosticSeverity.Error
        self._statements, self._omitted = of_type[syntax.ExpressionStatementSyntax], of_type[syntax.OmittedTypeArgumentSyntax]

    def judge(self, text: str) -> str:
        tree = self._tree.ParseText(text, self._options)
        for diagnostic in tree.GetDiagnostics():
            if diagnostic.Severity == self._error:
                return f"{_place(diagnostic.Location)}:{diagnostic.Id}: {diagnostic.GetMessage()}"
        root = tree.GetRoot()
        members = list(root.Members)
        for member in members[1:]:
            if "FileScopedNamespaceDeclaration" in (self._kind(member), self._kind(members[0])):
                return f"{_place(member.GetLocation())}:CS8956: a namespace of the file beside other members"
        for statement in self._statements(root.DescendantNodes()):
            if not self._stands_alone(statement.Expression):
                return f"{_place(statement.GetLocation())}:CS0201: an expression that is no statement"
        for omitted in self._omitted(root.DescendantNodes()):
            if not any(self._names_a_type(node) for node in omitted.Ancestors()):
                return f"{_place(omitted.GetLocation())}:CS7003: a generic name without its types"
        return ""

    def _kind(self, node: Any) -> str:
        return str(self._extensions.Kind(node).ToString())

    def _names_a_type(self, node: Any) -> bool:
        kind = self._kind(node)
        return kind == "TypeOfExpression" or (kind == "InvocationExpression" and str(node.Expression) == "nameof")

    def _stands_alone(self, expression: Any) -> bool:
        kind = self._kind(expression)
        while kind == "ConditionalAccessExpression":
            expression = expression.WhenNotNull
            kind = self._kind(expression)
        return kind in _STATEMENTS or kind.endswith(_STATEMENT_ENDINGS)


def _place(location: Any) -> str:
    start = location.GetLineSpan().StartLinePosition
    return f"{start.Line + 1}:{start.Character + 1}"


if __name__ == "__main__":
    start(*sys.argv[1:])
    parser = Roslyn()
    while size := sys.stdin.buffer.read(4):
        answer = parser.judge(sys.stdin.buffer.read(int.from_bytes(size, "big")).decode("utf-8", "surrogatepass"))
        sys.stdout.buffer.write(" ".join(answer.splitlines()).encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
