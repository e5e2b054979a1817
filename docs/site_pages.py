"""What MkDocs is told besides mkdocs.yml: the pages that lie outside docs/, and where links to the outside lead.

The pages of docs/ are read on the site and in a clone, where `../README.md` is a file. On the site the README is the home
page; links to files that are no page there (sources, folders) keep their text only.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmark-scripts.md",
    "examples/README.md": "examples.md",
    "fuzz/README.md": "fuzzing.md",
}
"""File of the repository -> page of the site."""
_LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>(?!\w+:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```.*?^```)", re.M | re.S)


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that lie outside docs/."""
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrites the links of a page, its code left alone."""
    at = page.file.src_uri
    source = next((s for s, p in OUTSIDE.items() if p == at), f"docs/{at}")

    def rewritten(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
        on_site = OUTSIDE.get(target, OUTSIDE.get(f"{target}/README.md"))
        if on_site is None and target.startswith("docs/"):
            on_site = target.removeprefix("docs/")
        if on_site is None:
            if not (ROOT / target).exists():
                raise FileNotFoundError(f"{source} links to {link['target']}, which does not exist")
            return link["text"].strip("[]")
        relative = posixpath.relpath(on_site, posixpath.dirname(at) or ".")
        return f"{link['text']}({relative}{link['anchor'] or ''})"

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(rewritten, part) for part in parts)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Names what the theme leaves without a name, for those who hear a page: the search, and heads of tables without text."""
    output = output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)
    return re.sub(r"<th(?P<style>[^>]*)></th>", r"<td\g<style>></td>", output)
