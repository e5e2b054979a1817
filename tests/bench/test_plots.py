"""Pictures of reports: the same figures give the same bytes, and what has no figures has no picture."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from needed import needed

from psc.bench.plots import picture
from psc.bench.reports import Report

needed("matplotlib")


def masks(engines: dict[str, float]) -> Report:
    figures = {name: {"later": {"mask_us": {"calls": 9, "mean": mean}}} for name, mean in engines.items()}
    return Report("masks", "?", "", [], {"json": {"engines": figures}})


def test_a_picture_is_an_image_of_the_figures() -> None:
    drawn = picture(masks({"psc fill": 1.0, "xgrammar": 100.0}))
    assert drawn is not None and drawn == picture(masks({"psc fill": 1.0, "xgrammar": 100.0}))
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    assert drawn != picture(masks({"psc fill": 2.0, "xgrammar": 100.0}))


def test_nothing_to_show() -> None:
    assert picture(masks({})) is None
    assert picture(replace(masks({}), name="maskbench")) is None
