"""Executes `for` and `while`, each pass in its own scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.iteration import PASSES
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.landing import Landing
from torch_doctor.static.language import conditions, courses, generators, targets, while_loops
from torch_doctor.static.state import per_path
from torch_doctor.static.training import filling
from torch_doctor.static.values.symbols import latest
from torch_doctor.trace import LoopExited, LoopIterated, LoopKind, Scope, ScopeKind

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from torch_doctor.static.iteration import Course
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site


class Repeated(Knowledge):
    """The inner loops that a pass of an outer loop has executed, each with its number.

    They are known by the outer loop's number, the inner loop, and the calls that lead there.
    """

    inner: MutableMapping[tuple[int, p.Node, tuple[Site, ...]], int] = per_path(dict)


def _for(run: Run, node: p.For) -> bool:
    if generators.goes_through(run, node):
        return run.block(node.other)
    unfollowed = generators.trains_beside(run, node)
    course = courses.course_of(run, node.over, node.body)

    def begin(number: int) -> bool:
        if unfollowed:
            run.give_up(node, "a generator is interleaved with the loop")
        item = course.item(number)
        targets.bind(run, node.target, item, node)
        return True

    alive = iterate(run, node, node.head, course, begin, lambda: run.block(node.body))
    return alive and run.block(node.other)


def _while(run: Run, node: p.While) -> bool:
    way = while_loops.way_of(run, node)
    taking = run.of(courses.Taking)
    outer, end = taking.current, way.end

    def begin(number: int) -> bool:
        if way.counter is not None:
            targets.bind(run, way.counter, way.course.item(number), node)
        elif way.iterator is not None:
            taking.current = (*outer, (way.iterator, way.course.item(number)))
        truth, _, _, _ = conditions.decide(run, node.test)
        return truth is not False

    def ended() -> bool:
        return end is None or run.block(end.body)

    with taking.override(current=outer, ends=taking.ends | ({end} if end is not None else set())):
        alive = iterate(run, node, node.head, way.course, begin, lambda: run.block(node.body), ended)
    if alive:
        filling.until_long(run, node)
    return alive and run.block(node.other)


def iterate(
    run: Run,
    node: p.Node,
    head: p.At,
    course: Course,
    begin: Callable[[int], bool],
    body: Callable[[], bool],
    ended: Callable[[], bool] = lambda: True,
) -> bool:
    """Run a loop's passes, each in its own scope, and what comes when they have `ended`; False when no path leaves the loop."""
    site = run.frame.unit.site(head)
    outer_scope, assumed, guards = run.scope, run.assumed, run.guards
    outer_landings = (run.iteration, run.loop)
    number_of_loop = next(run.loops)
    before = _before(run, node, course, number_of_loop)
    quiet = bool(run.modules_called)
    if not quiet:
        courses.entered(run, site, number_of_loop, course, before)
    run.position.loop = end = Landing(run.heap.mark(), run.fork_depth)
    since = run.position.loop_began
    if course.length != course.passes:
        run.position.loop_began = latest()
    run.position.loop_depth += 1
    alive = True
    for number in range(1, (1 if before else course.passes) + 1):
        run.position.scope = Scope(
            kind=ScopeKind.ITERATION,
            site=site,
            parent=outer_scope,
            loop=number_of_loop,
            number=number,
            loop_kind=course.kind,
        )
        if not quiet:
            run.emit(LoopIterated, site, loop=number_of_loop, number=number)
        run.position.iteration = next_pass = Landing(run.heap.mark(), run.fork_depth)
        if not begin(number):
            break
        alive = run.land(next_pass, alive=body())
        run.position.assumed, run.position.guards = assumed, guards
        if not alive:
            break
    run.position.loop_depth -= 1
    run.position.loop_began = since
    run.position.scope = outer_scope
    alive = run.land(end, alive=alive and ended())
    run.position.iteration, run.position.loop = outer_landings
    if not quiet:
        run.emit(LoopExited, site, loop=number_of_loop)
    return alive


def _before(run: Run, node: p.Node, course: Course, number: int) -> int:
    """The number that a loop had in an earlier pass of a loop around it; 0 where that has not come to it before.

    Such a loop is executed for one pass only. What a pass leaves for the next one was seen in the first outer pass, and what one
    outer pass leaves for the next is seen in the first inner pass of the second. So an epoch and its batches take three passes
    instead of four, which are most of the time of a scan.
    """
    if course.kind is LoopKind.COUNTED or course.passes != PASSES:
        return 0
    outer = [each for each in run.scope.iterations() if each.loop_kind is not LoopKind.COUNTED]
    inner, calls = run.of(Repeated).inner, run.scope.calls()
    for each in outer:
        before = inner.setdefault((each.loop, node, calls), number)
        if each.number > 1 and before != number:
            return before
    return 0


dispatch.STATEMENTS.update(
    {
        p.For: _for,
        p.While: _while,
    }
)
