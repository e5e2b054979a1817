"""Whether an sdist and a wheel of psc have what they must and nothing else: distribution_contents.py SDIST WHEEL...

The source tree says what must be there, so that a file which is added is looked for without a line here.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {"psc": "psc", "artifacts": "psc/artifacts", "cluster": "psc/cluster", "compiler": "psc/compiler", "runtime": "psc/runtime"}
"""Folders of the tree, and where wheels have them."""
BUILT_FROM = ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "licenses/", "native/", *(f"{room}/" for room in ROOMS))
ALSO_IN_WHEELS = ("psc/py.typed", "psc/_core.pyi", "psc/compiler/grammars/json.ebnf", "psc/playground/page.html")
"""Named once more: without them a wheel works until somebody looks for them."""
NOT_IN_WHEELS = ("native/", "tests/", "benchmarks/", "docs/", ".ci/", "CMakeLists.txt", "include/", "lib/", "nanobind/")


def tracked() -> list[str]:
    """The files of the tree that git knows, without symbolic links."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and not (ROOT / name).is_symlink()]


def wrong_with_sdist(path: Path) -> list[str]:
    """What is missing in it or other than in the tree, and what should not be there."""
    with tarfile.open(path) as archive:
        held = {m.name.partition("/")[2]: m for m in archive.getmembers() if m.isfile()}
        wanted = [name for name in tracked() if name.startswith(BUILT_FROM)]
        found = [f"has no {name}" for name in wanted if name not in held]
        for name in wanted:
            read = archive.extractfile(held[name]) if name in held else None
            if read is not None and read.read() != (ROOT / name).read_bytes():
                found.append(f"has another {name}")
    found += [f"has {name}" for name in held if name.endswith((".so", ".pyc")) or name.startswith((".ci/", "build/"))]
    return found


def wrong_with_wheel(path: Path) -> list[str]:
    """The same of a wheel."""
    with zipfile.ZipFile(path) as archive:
        held = set(archive.namelist())
        metadata = archive.read(next(name for name in held if name.endswith(".dist-info/METADATA"))).decode()
    wanted = list(ALSO_IN_WHEELS)
    for name in tracked():
        room, _, rest = name.partition("/")
        if room in ROOMS and rest:
            wanted.append(f"{ROOMS[room]}/{rest}")
    found = [f"has no {name}" for name in wanted if name not in held]
    licences = [name.partition(".dist-info/licenses/")[2] for name in held]
    texts = ["LICENSE", *(name for name in tracked() if name.startswith("licenses/"))]
    found += [f"has no licence {name}" for name in texts if name not in licences]
    found += [f"has no line {line!r} in METADATA" for line in ("License-Expression: ", "Requires-Python: ") if line not in metadata]
    modules = [name for name in held if name.startswith("psc/_core.") and name.endswith((".so", ".pyd"))]
    if len(modules) != 1:
        found.append(f"has {len(modules)} native modules")
    found += [f"has {name}" for name in held if name.startswith(NOT_IN_WHEELS) or name.endswith((".pyc", ".cpp", ".hpp", ".a"))]
    return found


def main() -> None:
    failed = False
    for path in map(Path, sys.argv[1:]):
        found = wrong_with_sdist(path) if path.name.endswith(".tar.gz") else wrong_with_wheel(path)
        for line in found:
            print(f"{path.name} {line}", file=sys.stderr)
        failed = failed or bool(found)
    sys.exit(failed)


main()
