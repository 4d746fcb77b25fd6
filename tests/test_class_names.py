"""A class name means one thing in each part of torch-doctor."""

from __future__ import annotations

import ast
from collections import Counter

from tests import source_code

FOUND_BY_NAME = {"Watcher", "Instrument"}
"""Classes that are found by walking packages, one in each module."""
TWICE = {
    ("probe", "Channel"): "the two ends of a pipe",
    ("probe", "Climb"): "a checkup, as the agent does it and as its results are read",
    ("probe", "Sentinel"): "an object that lives as long as a graph, each with what its owner needs",
    ("scan", "Scanning"): "the same scan, as its two helpers need it",
    ("static", "Call"): "the syntax of a call (`p.Call`), and its evaluated arguments",
    ("static", "Const"): "the syntax of a literal (`p.Const`), and its value",
    ("static", "Function"): "the syntax of a function (`p.Function`), and what a table says of one",
    ("static", "Method"): "a value, and what a table says of one; `torch_doctor.knowledge` publishes the latter",
    ("static", "Rows"): "what is known of rows: in a value, and in a run",
}


def test_a_class_name_means_one_thing_in_each_part() -> None:
    names: Counter[tuple[str, str]] = Counter()
    for root in ("doctor", "rules"):
        for module, path in source_code.modules(root).items():
            top, *parts = module.split(".")
            part = parts[0] if parts and top == "torch_doctor" else top
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            names.update((part, node.name) for node in nodes if isinstance(node, ast.ClassDef))
    twice = {key for key, number in names.items() if number > 1 and key[1] not in FOUND_BY_NAME}
    assert twice == TWICE.keys()
