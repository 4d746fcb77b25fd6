"""What a rung tells, as plain values that JSON can hold."""

from __future__ import annotations

import math
from typing import Any

LONGEST = 400  # characters of a text


def result(
    status: str,
    reason: str,
    evidence: list[dict[str, Any]] | None = None,
    plots: list[dict[str, Any]] | None = None,
    *,
    then: str = "",
    code: str = "",
    about: tuple[str, ...] = (),
) -> dict[str, Any]:
    """What a rung found out: `then` is what to look at next, and `about` says of which kinds a failure is."""
    return {
        "status": status,
        "reason": reason,
        "evidence": evidence or [],
        "plots": plots or [],
        "next": then,
        "code": code,
        "about": about,
    }


class Result:
    """Makes results with the same evidence and plots."""

    def __init__(self, evidence: list[dict[str, Any]], plots: list[dict[str, Any]]) -> None:
        self._evidence, self._plots = evidence, plots

    def __call__(self, status: str, reason: str, *, then: str = "", about: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the result with this status and reason."""
        return result(status, reason, self._evidence, self._plots, then=then, about=about)


class Faults:
    """What is wrong, in words, and of which kinds it is."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.about: tuple[str, ...] = ()

    def add(self, text: str, about: str) -> None:
        """Something is wrong."""
        self.texts.append(text)
        self.about = tuple(dict.fromkeys([*self.about, about]))

    def __bool__(self) -> bool:
        return bool(self.texts)

    def __str__(self) -> str:
        return "; ".join(self.texts)


def fact(label: str, value: Any, unit: str = "", *, expected: str = "", group: str = "") -> dict[str, Any]:
    """One piece of evidence."""
    return {"label": label, "value": value, "unit": unit, "expected": expected, "group": group}


def line(
    label: str, values: list[Any], places: list[float] | None = None, *, axis: str = "", log: bool = False
) -> dict[str, Any]:
    """One line of a plot, or its bars; lines of the same `axis` share a panel, which is logarithmic where one has `log`."""
    x = places or [float(each) for each in range(1, len(values) + 1)]
    return {"label": label, "x": x, "y": values, "axis": axis, "log": log}


def plot(title: str, kind: str, alternative: str, **more: Any) -> dict[str, Any]:
    """A figure, with the fields of `Plot`."""
    return {"title": title, "kind": kind, "alternative": alternative, **more}


def without_samples(plots: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures in which nothing of the data itself is shown; of samples, what is not their input."""
    return [
        {**each, "samples": [{**sample, "text": "", "png": ""} for sample in each["samples"]]}
        if each["kind"] == "samples"
        else each
        for each in plots
        if each["kind"] not in {"images", "texts"} and not each.get("private")
    ]


def number(value: float) -> str:
    """A number as a sentence has it: four digits, and no more than are needed."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1_000_000:
        return str(int(value))
    return f"{value:.4g}"


def clean(value: Any, *, series: bool = False) -> Any:
    """The same with nothing in it that JSON cannot hold: None for numbers that are not finite in a series, else their words."""
    if isinstance(value, dict):
        return {str(key): clean(each, series=series or key in {"y", "rows"}) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(each, series=series) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None if series else str(value)
    return str(value)


def count(many: int, what: str, several: str = "") -> str:
    """`1 row`, `2 rows`."""
    return f"{many:,} {what if many == 1 else several or what + 's'}"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
