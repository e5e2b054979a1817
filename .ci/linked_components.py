"""Adds to a bill of materials what is linked into the native module, and the version: linked_components.py FROM TO VERSION.

The versions are those of the nanobind that is installed here, with which the wheel was built.
"""

import json
import re
import sys
from importlib import metadata
from pathlib import Path

import nanobind


def robin_map_version() -> str:
    header = Path(nanobind.__file__).parent / "ext/robin_map/include/tsl/robin_growth_policy.h"
    return ".".join(re.findall(r"#define TSL_RH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text()))


def component(name: str, version: str, licence: str, purl: str, page: str) -> dict[str, object]:
    """As the schema of CycloneDX 1.6 has it."""
    return {
        "bom-ref": purl,
        "type": "library",
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"id": licence}}],
        "externalReferences": [{"type": "website", "url": page}],
        "scope": "required",
    }


def main() -> None:
    source, target, version = sys.argv[1:]
    bill = json.loads(Path(source).read_text())
    nanobind_version, robin = metadata.version("nanobind"), robin_map_version()
    linked = [
        component(
            "nanobind",
            nanobind_version,
            "BSD-3-Clause",
            f"pkg:pypi/nanobind@{nanobind_version}",
            "https://github.com/wjakob/nanobind",
        ),
        component("robin-map", robin, "MIT", f"pkg:github/Tessil/robin-map@v{robin}", "https://github.com/Tessil/robin-map"),
    ]
    bill["metadata"]["component"] |= {"version": version, "purl": f"pkg:pypi/psc@{version}"}
    bill["components"] += linked
    root = bill["metadata"]["component"]["bom-ref"]
    for entry in bill["dependencies"]:
        if entry["ref"] == root:
            entry["dependsOn"] = sorted({*entry.get("dependsOn", ()), *(str(c["bom-ref"]) for c in linked)})
    Path(target).write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n")


main()
