"""Why a run made no update that the source shows: the first place on the way there that it did not come to."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_doctor.probe.alone import reason
from torch_doctor.probe.lessons.choices import leading
from torch_doctor.probe.lessons.lesson import Failure, Lesson
from torch_doctor.probe.remarks import exits, last_words
from torch_doctor.trace import EVENTS, Run, ScopeKind, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_doctor.probe.launch import Launched
    from torch_doctor.trace import Event, Trace

MOST = 200  # events of a kind, of which the ways are looked at
LONGEST = 120  # characters of a line
LOOPS = (ast.For, ast.While)
Text = Callable[[str], str]
"""The text of a file that users see by this name; nothing where it cannot be read."""


class WayIn(NamedTuple):
    """How the source comes to where a model is trained.

    `points` are calls and headers of loops, outermost first, and the line itself at last; `loops` are those points that are
    headers, `tests` the lines that decide whether it goes there, with the arguments that lead there where the defaults do not,
    and `outside` is the function in which it begins, if nobody in sight calls that.
    """

    points: tuple[Site, ...]
    loops: frozenset[Site]
    tests: tuple[tuple[Site, tuple[str, ...]], ...]
    outside: Site | None

    def far(self, run: Run) -> int:
        """How many of its points a run came to, until the first one that it did not come to."""
        return next((number for number, site in enumerate(self.points) if not run.came_to(site)), len(self.points))

    def turned(self, run: Run) -> tuple[Site, tuple[str, ...]] | None:
        """The last test that a run came to and did not come from to the next point."""
        far = self.far(run)
        if far == len(self.points):
            return None
        before, missed = self.points[far - 1] if far else None, self.points[far]
        tests = [each for each in self.tests if _between(each[0], before, missed) and run.came_to(each[0])]
        return max(tests, key=lambda each: each[0].row, default=None)


def places(traces: Iterable[Trace], text: Text) -> frozenset[Site]:
    """The lines of which a run has to tell whether it came there; `text` is that of a file."""
    return frozenset(site for way in _ways(traces, text) for site in (*way.points, *(test for test, _ in way.tests)))


def why(traces: Sequence[Trace], run: Run, text: Text) -> str:
    """What kept a run from an update, in words; empty where the source or the run does not tell."""
    way = _furthest(traces, run, text)
    far = way.far(run) if way is not None else 0
    if way is None or (far == len(way.points) and not any(trace.of(EVENTS["OptimizerBuilt"]) for trace in traces)):
        return ""  # it need not make one
    if far == len(way.points):
        return f"it came to {_at(way.points[-1], text)}, and made no update"
    if (turned := way.turned(run)) is not None:
        return f"the test at {_at(turned[0], text)} did not lead to the training"
    missed, before = way.points[far], way.points[far - 1] if far else None
    if before in way.loops and before is not None:
        return f"the loop at {_at(before, text)} had nothing to go over"
    if before is None and way.outside is not None:
        return f"nothing that ran calls the training at {_at(way.outside, text)}"
    whose = "the training is called" if before is None and missed.path not in {each.path for each in run.passed} else ""
    return f"{whose} at {_at(missed, text)}, where nothing ran" if whose else f"it ended before {_at(missed, text)}"


def chosen(traces: Iterable[Trace], run: Run, known: Sequence[Lesson], text: Text) -> list[Lesson]:
    """What options have to be, so that the test at which a run turned away from the training leads there."""
    way = _furthest(traces, run, text)
    if way is None or (turned := way.turned(run)) is None:
        return []
    found = []
    for word, after in itertools.pairwise([*turned[1], ""]):
        if word.startswith("--"):
            name, _, value = word.partition("=")
            given = value or (after if after and not after.startswith("--") else True)
            plain = name.lstrip("-").replace("-", "_")
            found.append(Lesson("argument", plain, given, f"`{name}` leads to the training"))
    if not found and (lesson := leading(Failure(run, run.end, known, text), way.points[way.far(run)])) is not None:
        found = [lesson]
    return [each for each in found if each not in known]


def _furthest(traces: Iterable[Trace], run: Run, text: Text) -> WayIn | None:
    return max(_ways(traces, text), key=lambda way: way.far(run), default=None)


def _ways(traces: Iterable[Trace], text: Text) -> list[WayIn]:
    """The ways to where gradients are computed, or else to where an optimizer steps; by its text, where no execution saw those."""
    traces = list(traces)
    found = dict.fromkeys(
        _way(trace, event)
        for trace in traces
        for event in (trace.of(EVENTS["Backward"]) or trace.of(EVENTS["Stepped"]))[:MOST]
    )
    return list(found) or [
        way for path in dict.fromkeys(each.path for each in traces) for way in _written(path, text(path))
    ]


def _written(path: str, text: str) -> Iterator[WayIn]:
    """The ways to where gradients are computed as they are written: functions and loops around it."""
    try:
        waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(ast.parse(text), ())]
    except (SyntaxError, ValueError, RecursionError):
        return
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            points = [(_site(path, each), isinstance(each, LOOPS)) for each in around]
            first = next((site for site, is_loop in points if not is_loop), None)
            loops = frozenset(site for site, is_loop in points if is_loop)
            yield WayIn((*(site for site, _ in points), _site(path, node)), loops, (), first)
        inside = (*around, node) if isinstance(node, (ast.FunctionDef, *LOOPS)) else around
        waiting += [(each, inside) for each in ast.iter_child_nodes(node)]


def _site(path: str, node: Any) -> Site:  # noqa: ANN401 - any node with a place
    return Site(path, node.lineno, node.col_offset + 1, node.lineno, node.col_offset + 1)


def _way(trace: Trace, event: Event) -> WayIn:
    points: list[Site] = []
    loops: set[Site] = set()
    chain = event.scope.chain()
    for scope in chain:
        if scope.kind is ScopeKind.ITERATION:
            loops.add(scope.site)
            points.append(scope.site)
        elif scope.called_at is not None:
            points.append(scope.called_at)
    tests: dict[Site, tuple[str, ...]] = {}
    for number, arm in event.guards:
        branch = trace.branches[number]
        needs = branch.needs if branch.needs is not None and branch.needs.arm is arm else None
        tests[branch.site] = (needs.arguments if needs is not None else None) or ()
    beginning = next((scope.site for scope in chain if scope.name), None)
    outside = beginning if trace.begins_outside else None
    return WayIn((*dict.fromkeys(points), event.site), frozenset(loops), tuple(sorted(tests.items())), outside)


def _between(test: Site, before: Site | None, missed: Site) -> bool:
    """Whether a test lies on the way from one point to the next one."""
    if (test.path, test.cell) != (missed.path, missed.cell) or test.row > missed.row:
        return False
    return before is None or before.path != test.path or before.row > missed.row or test.row >= before.row


def _at(site: Site, text: Text) -> str:
    place = str(site).rpartition(":")[0]
    rows = text(site.path).splitlines() if site.cell is None else []
    line = " ".join("".join(rows[site.row - 1 : site.row]).split())[:LONGEST]
    return f"{place} (`{line}`)" if line else place


def said(trace: Trace, launched: Launched, why: str) -> str:
    """The same of a run that ended by itself; with where it exits, and with the first failure that was left out."""
    run = trace.run or Run()
    words = [f"it {where}" if (where := exits(run)) else why]
    if run.end.how == "exit":
        words.append(last_words(launched).removeprefix("; "))
    if left_out := reason(trace):
        words.append(f"left out: {left_out.strip(' ()')}")
    return "; ".join(filter(None, words))
