"""What is in a package, and what installed packages offer, found by names of files."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from torch_doctor.packages import modules, offers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("package", ["torch_doctor_rules", "torch_doctor.static", "torch_doctor.trace", "msgspec"])
def test_the_modules_of_a_package_are_those_that_pkgutil_tells_in_its_order(package: str) -> None:
    path = import_module(package).__path__
    assert list(modules(package)) == [each.name for each in pkgutil.walk_packages(path, f"{package}.")]


@pytest.mark.parametrize("group", ["torch_doctor.rules", "pytest11", "console_scripts", "nobody.offers.this"])
def test_what_is_offered_here_is_what_the_standard_library_tells(group: str) -> None:
    assert sorted(offer.value for offer in offers(group)) == sorted(entry.value for entry in entry_points(group=group))


def test_of_a_package_that_is_there_twice_the_first_counts(
    folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, value in (("first", "rules_one:rules"), ("second", "rules_two:rules")):
        write(f"{place}/Our.Rules-{place}.dist-info/entry_points.txt", f"[of.ours]\nours = {value}\n")
    monkeypatch.setattr(sys, "path", [str(folder / "first"), str(folder / "second"), str(folder / "missing")])
    assert [offer.value for offer in offers("of.ours")] == ["rules_one:rules"]


def test_lines_of_other_groups_and_comments_are_not_offered(
    folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "[other]\nx = a:b\n\n[of.ours]\n# no = c:d\n y = os.path : join [extra] \n[of.ours.too]\nz = e:f\n"
    write("site/pack-1.0.dist-info/entry_points.txt", text)
    monkeypatch.setattr(sys, "path", [str(folder / "site")])
    (offer,) = offers("of.ours")
    assert offer.load() is __import__("os").path.join


def test_a_finder_of_somebody_else_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_spec(self, *_: object) -> None: ...

        def find_distributions(self, *_: object) -> list[object]:
            asked.append(True)
            return []

    asked: list[bool] = []
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert any("torch_doctor_rules" in offer.value for offer in offers("torch_doctor.rules"))
    assert asked


def test_a_package_without_metadata_offers_what_it_has_to_whoever_asks(
    folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("site/half_removed-1.0.dist-info/entry_points.txt", "[of.ours]\nours = rules_one:rules\n")
    monkeypatch.setattr(sys, "path", [str(folder / "site"), __file__])
    assert [offer.value for offer in offers("of.ours")] == ["rules_one:rules"]
