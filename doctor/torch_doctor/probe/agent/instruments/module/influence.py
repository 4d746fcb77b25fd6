"""Where a change of the last place of a sequence comes to earlier places, while two copies of a model run."""

from __future__ import annotations

from typing import Any, NamedTuple

MOST = 4_000_000  # numbers of a tensor that is compared
CLOSE = 1e-5  # by the largest number: what is nearer is rounding
BACK = 6  # steps from a product back to the softmax of its weights
KINDS = {
    "scaled_dot_product_attention": "attention",
    "multi_head_attention_forward": "attention",
    "_native_multi_head_attention": "attention",
    "_transformer_encoder_layer_fwd": "attention",
    "softmax": "attention",
    "lstm": "recurrent",
    "gru": "recurrent",
    "rnn_tanh": "recurrent",
    "rnn_relu": "recurrent",
    "conv1d": "convolution",
}
"""What functions of torch are that mix places, by their names."""
PRODUCTS = frozenset(("matmul", "__matmul__", "bmm", "einsum", "baddbmm"))


class Ran(NamedTuple):
    """A function of torch that ran: its name, where the user's code was, what it gave, and the steps that it got."""

    name: str
    site: int
    result: Any
    given: tuple[int, ...]


def followed(watch: Any, losses: frozenset[str], steps: list[Ran], scores: list[Any]) -> Any:
    """A mode of torch under which a model runs: collects what its functions give, and what its losses get."""
    torch, sites = watch.torch, watch.recorder.sites
    known: dict[int, int] = {}

    class Followed(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            name = getattr(function, "__name__", "")
            if name in losses and args:
                scores.append(args[0].detach())
            output = result[0] if isinstance(result, tuple) and result else result
            if isinstance(output, torch.Tensor) and output.dtype.is_floating_point and 1 < output.numel() <= MOST:
                frame = sites.frame()
                given = tuple(known[id(each)] for each in watch.marks.tensors((args, kwargs)) if id(each) in known)
                known[id(output)] = len(steps)
                steps.append(Ran(name, 0 if frame is None else sites.of_frame(frame), output.detach(), given))
            return result

    return Followed()


def changed(one: Any, other: Any) -> Any:
    """Where two tensors differ by more than rounding."""
    first, second = one.double(), other.double()
    apart = (first - second).abs().nan_to_num(nan=0.0)
    largest = float(first.abs().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).max()) if first.numel() else 0.0
    return apart > CLOSE * max(largest, 1e-12)


def crossing(first: list[Ran], second: list[Ran], place: int, rows: int) -> Ran | None:
    """The first step of those behind which earlier places than this one have changed, and stay so.

    None where it is not found, or where the change goes through one vector for each of the rows: an encoder has seen all
    that a decoder writes again.
    """
    if [each.name for each in first] != [each.name for each in second]:
        return None
    ways = [_spread(one.result, other.result, place) for one, other in zip(first, second)]  # noqa: B905 - as many
    kept = max((number for number, way in enumerate(ways) if way is False), default=-1)
    found = next((number for number in range(kept + 1, len(ways)) if ways[number]), None)
    if found is None or any(way and _is_vector(each.result, rows) for each, way in zip(first, ways)):  # noqa: B905 - as many
        return None
    waiting = [found] if first[found].name in PRODUCTS else []
    for _ in range(BACK):
        waiting = [each for number in waiting for each in first[number].given if ways[each]]
        softmax = next((number for number in waiting if first[number].name == "softmax"), None)
        if softmax is not None:
            return first[softmax]
    softmax = _softmax_of(first, ways, found)
    return first[found if softmax is None else softmax]


def _softmax_of(steps: list[Ran], ways: list[bool | None], product: int) -> int | None:
    """The softmax of the scores that a product computes, which have changed; None where there is none close behind it."""
    behind = {product} if steps[product].name in PRODUCTS else set()
    for number in range(product + 1, min(product + BACK, len(steps))):
        if behind.intersection(steps[number].given) and ways[number]:
            if steps[number].name == "softmax":
                return number
            behind.add(number)
    return None


def _is_vector(result: Any, rows: int) -> bool:
    return bool(result.dim() == 2 and result.shape[0] == rows)  # noqa: PLR2004 - rows and features


def _spread(one: Any, other: Any, place: int) -> bool | None:
    """Whether places before this one have changed, too, along each dimension; None where nothing has."""
    if one.shape != other.shape:
        return None
    where = changed(one, other)
    if not bool(where.any()):
        return None
    for dim, size in enumerate(where.shape):
        if size > place:
            places = where.movedim(dim, 0).reshape(size, -1).any(1).nonzero()
            if int(places[0]) >= place:
                return False
    return True
