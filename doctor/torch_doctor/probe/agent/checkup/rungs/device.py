"""Does the model answer the same elsewhere: on the GPU, in float64, under the script's autocast, when it is compiled?"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import hooks
from ...instruments.copies import copied, elements, evaluating
from ...instruments.parts import tensors
from ..roles import roles
from ..stage import Skip
from ..telling import Faults, fact, number, result
from .repeatability import NOTHING, apart

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..plays import Call, Play, Seen
    from ..roles import Roles
    from ..stage import Stage

LARGEST = 50_000_000  # parameters of a model that is copied
ROUNDING, HALF = 1e-2, 0.2
"""How far answers may be apart by rounding, of their size: in float32, and in numbers of half the precision."""


COMPILING = 2.0  # seconds without which nothing is compiled
BACKEND = "aot_eager"
"""Traces and decomposes as the usual one does, and generates no code, for which it would have to run a compiler."""


class Way(NamedTuple):
    """A way to compute, and how far its answer may be apart; `compiled` are the parts that the script compiles."""

    name: str
    device: str
    dtype: Any
    cast: Any = None
    allowed: float = ROUNDING
    compiled: tuple[tuple[str, dict[str, Any]], ...] = ()
    about: str = "precision"


class Computed:
    """What came of one way to compute: outputs, loss and gradients; the loss is None where it could not be computed."""

    def __init__(self, outputs: Any, loss: Any, gradients: dict[str, Any]) -> None:
        self.outputs = outputs
        self.loss = loss
        self.gradients = gradients


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Computes the answer of the step's model in several ways, on copies."""
    known = yield from roles(stage)
    model = stage.model
    call = next((each for each in reversed(known.seen.models) if each.called is model), None)
    if call is None or elements(stage.watch, model.parameters()) > LARGEST:
        raise Skip("no model in the step is small enough to copy")
    torch = stage.torch
    own = next(iter(model.parameters())).device.type
    ways = _ways(stage, model, own, known)
    first = _answer(stage, call, known, Way("", own, torch.float32))
    if first is None:
        raise Skip("a copy of the model does not run on its own")
    if not bool(first.outputs.isfinite().any()):
        stage.restore()
        raise Skip(NOTHING)
    again = _answer(stage, call, known, Way("", own, torch.float32), seed=1)
    if again is None or (_apart(first.outputs, again.outputs) or 0.0) > ROUNDING:
        stage.restore()
        raise Skip("the model draws random numbers, which differ between precisions")
    evidence, wrong, ran = [], Faults(), list[Way]()
    for way in ways:
        short = bool(way.compiled) and stage.left < COMPILING
        other = None if short else _answer(stage, call, known, way)
        if other is None:
            why = "not enough time left" if short else "the model does not run this way"
            evidence.append(fact("difference", None, group=way.name, expected=why))
            continue
        ran.append(way)
        expected = f"relative difference below {way.allowed:g} (rounding)"
        pairs = [("outputs", first.outputs, other.outputs), ("loss", first.loss, other.loss)]
        far = [
            (label, found)
            for label, one, two in pairs
            if (found := _apart(one, two)) is not None
            and _told(evidence, label, found, way.name, expected)
            and found > way.allowed
        ]
        worst, where = _gradients(first, other)
        if worst is not None:
            judged = "not judged: gradients near 0 have no meaningful relative difference"
            _told(evidence, f"gradients, largest in {where}" if where else "gradients", worst, way.name, judged)
        for label, found in far:
            wrong.add(
                f"{way.name}: the {label} differ{'s' * (label == 'loss')} by {number(found)} (relative)", way.about
            )
    evidence.append(fact("GPU", torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"))
    offered = _offer(stage, call, known, first, own) if _is_new(known, own) else []
    stage.restore()
    evidence += offered
    if not ran:
        raise Skip("a copy of the model does not run in another precision")
    if wrong:
        then = "look for subtractions of large numbers, exponentials, logarithms, and sums over many values"
        return result("failed", str(wrong), evidence, then=then, about=wrong.about)
    less = "" if torch.cuda.is_available() else "; no GPU available for comparison"
    if "compile" in stage.voided and not any(way.compiled for way in ran):
        less += "; compiled code ran uncompiled"
    return result("passed", f"outputs and loss agree: {', '.join(way.name for way in ran)}{less}", evidence)


def _is_new(known: Roles, own: str) -> bool:
    """Whether the script does without autocast, on a CPU, where it can be tried."""
    return known.seen.autocast is None and own == "cpu"


def _offer(stage: Stage, call: Call, known: Roles, first: Computed, own: str) -> list[dict[str, Any]]:
    """What autocast to bfloat16 would change, where the script has none: it is told and never judged."""
    torch = stage.torch
    way = Way("autocast to bfloat16 (not used by the script) against float32", own, torch.float32, torch.bfloat16, HALF)
    other = _answer(stage, call, known, way)
    if other is None:
        return []
    expected = f"relative difference below {HALF:g}, not judged"
    pairs = [("outputs", first.outputs, other.outputs), ("loss", first.loss, other.loss)]
    found = [
        fact(label, far, group=way.name, expected=expected)
        for label, one, two in pairs
        if (far := _apart(one, two)) is not None
    ]
    if known.task == "classes" and first.outputs.dim() > 1 and first.outputs.shape == other.outputs.shape:
        same = float((first.outputs.argmax(1) == other.outputs.argmax(1)).double().mean())
        found.append(fact("predicted classes that are the same", 100 * same, "%", group=way.name))
    return found


def _ways(stage: Stage, model: Any, own: str, known: Roles) -> list[Way]:
    """What the answer in float32, where the model is, is compared with."""
    torch, autocast = stage.torch, known.seen.autocast
    ways = [Way("float64 against float32", own, torch.float64)]
    if autocast is not None:
        name = str(autocast).replace("torch.", "")
        ways.append(Way(f"autocast to {name} against float32", own, torch.float32, autocast, HALF))
    if torch.cuda.is_available() and own == "cuda":
        ways.append(Way("CPU against CUDA", "cpu", torch.float32, about="devices"))
    compiler = stage.catcher.compiler
    wanted = {} if compiler is None else {id(thing): keywords for thing, keywords in compiler.compiled}
    parts = tuple((name, wanted[id(part)]) for name, part in model.named_modules() if id(part) in wanted)
    if parts:
        name = f"torch.compile ({BACKEND}, without generated code) against eager"
        ways.append(Way(name, own, torch.float32, compiled=parts, about="compiler"))
    return ways


def _told(evidence: list[dict[str, Any]], label: str, found: float, group: str, expected: str) -> bool:
    evidence.append(fact(label, found, group=group, expected=expected))
    return True


def _apart(one: Any, other: Any) -> float | None:
    return None if one is None or other is None else apart(one, other)


def _gradients(first: Computed, other: Computed) -> tuple[float | None, str]:
    """The largest difference between the gradients of one parameter."""
    found = [
        (far, name)
        for name, each in first.gradients.items()
        if name in other.gradients and (far := _apart(each, other.gradients[name])) is not None
    ]
    return max(found, default=(None, ""))


def _answer(stage: Stage, call: Call, known: Roles, way: Way, seed: int = 0) -> Computed | None:
    """What a copy of the model answers in evaluation mode, with random numbers of a seed; None where it cannot run so."""
    torch = stage.torch

    def put(thing: Any) -> Any:
        if not isinstance(thing, torch.Tensor):
            return thing
        return thing.detach().to(device=way.device, dtype=way.dtype if thing.is_floating_point() else thing.dtype)

    plain = ExitStack()
    if way.compiled:
        plain.enter_context(stage.watch.patches.suspended())
        plain.enter_context(hooks.silent())
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad(), evaluating(call.called):
            torch.manual_seed(seed)
            own = copied(stage.watch, call.called).eval().to(way.dtype).to(way.device)
            given, keywords = torch.utils._pytree.tree_map(put, copied(stage.watch, (call.given, call.keywords)))
            with plain, torch.autocast(way.device, dtype=way.cast or torch.bfloat16, enabled=way.cast is not None):
                for name, asked in way.compiled:
                    part = own.get_submodule(name)
                    options = {key: asked[key] for key in ("fullgraph", "dynamic") if key in asked}
                    part.forward = stage.catcher.compiler.original(part.forward, backend=BACKEND, **options)
                output = own(*given, **keywords)
                loss = _loss(torch, call, known, output, put)
            found = next((each for each in tensors(output) if each.is_floating_point()), None)
            if found is None:
                return None
            gradients = {}
            if loss is not None and loss.requires_grad:
                named = {name: each for name, each in own.named_parameters() if each.requires_grad}
                got = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
                gradients = {name: each.cpu().double() for name, each in zip(named, got) if each is not None}
            lost = None if loss is None else loss.detach().reshape(1).cpu().double()
            return Computed(found.detach().cpu().double(), lost, gradients)
    except Exception:  # noqa: BLE001 - whatever keeps it from running so
        return None


def _loss(torch: Any, call: Call, known: Roles, output: Any, put: Any) -> Any:
    """The loss of the script on this output; None where the loss is not computed of the output as it is."""
    score = known.score
    if score is None or known.outputs is not call.result or not isinstance(output, torch.Tensor):
        return None
    function = getattr(torch.nn.functional, score.called)
    rest = torch.utils._pytree.tree_map(put, list(score.given[1:]))
    keywords = {name: put(value) for name, value in score.keywords.items() if name != "input"}
    value = function(output, *rest, **keywords)
    return value if value.numel() == 1 else None
