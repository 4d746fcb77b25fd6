"""What `pad_sequence` has padded, and where: known again by its numbers, wherever it turns up."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...watching.watch import Watch

KEPT = 16  # padded tensors that are remembered
LARGEST = 1_000_000  # numbers of one
MATRIX = 2  # dimensions of sequences side by side


def padded_in(watch: Watch) -> Padded:
    """What was padded in a run; those who ask share it."""
    if "padded" not in watch.__dict__:
        watch.__dict__["padded"] = Padded(watch)
    found: Padded = watch.__dict__["padded"]
    return found


class SideBySide:
    """A tensor that `pad_sequence` made."""

    def __init__(self, made: Any, behind: Any, *, telling: bool) -> None:
        self.made = made
        self.behind = behind
        """Where it is padding."""
        self.telling = telling
        """Whether the padding itself tells that a sequence has ended, so that it is a target like any other."""

    def ends_with(self, other: SideBySide) -> bool:
        """Whether its sequences are as long as others."""
        return self.behind.shape == other.behind.shape and bool((self.behind == other.behind).all())


class Padded:
    """The tensors that `pad_sequence` made last, and the tokens that came with a mask of those that are no padding."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._last: deque[SideBySide] = deque(maxlen=KEPT)
        self._masked: deque[tuple[Any, Any]] = deque(maxlen=KEPT)  # the same of what a mask tells of
        self._words: deque[tuple[Any, int]] = deque(maxlen=KEPT)  # tokens, and which of them a model takes for padding
        watch.patches.replace(watch.torch.nn.utils.rnn, "pad_sequence", self._wrapping)

    def __bool__(self) -> bool:
        return bool(self._last or self._masked or self._words)

    def _wrapping(self, original: Any) -> Any:
        recorder = self._watch.recorder

        def pad_sequence(*arguments: Any, **keywords: Any) -> Any:
            made = original(*arguments, **keywords)
            if not recorder.quiet:
                recorder.safely(self._note, made, arguments, keywords)
            return made

        return pad_sequence

    def _note(self, made: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Remembers sequences, and where each of them has ended."""
        sequences = arguments[0] if arguments else keywords["sequences"]
        if made.requires_grad or made.dim() < MATRIX or made.numel() > LARGEST:
            return
        batch_first = arguments[1] if len(arguments) > 1 else keywords.get("batch_first", False)
        side = arguments[3] if len(arguments) > 3 else keywords.get("padding_side", "right")  # noqa: PLR2004 - the fourth
        torch, longest = self._watch.torch, made.shape[1 if batch_first else 0]
        lengths = torch.tensor([len(each) for each in sequences])[:, None]
        steps = torch.arange(longest)[None]
        behind = steps < longest - lengths if side == "left" else steps >= lengths
        fill = arguments[2] if len(arguments) > MATRIX else keywords.get("padding_value", 0.0)
        telling = side != "left" and _tells_ends(sequences, fill)
        self._last.append(SideBySide(made if batch_first else made.transpose(0, 1), behind, telling=telling))

    def given(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """A model gets tokens, perhaps with a mask that is 0 where they are padding, or it has an embedding that says what is."""
        self._declared(module, arguments, keywords)
        torch, mask = self._watch.torch, keywords.get("attention_mask")
        if not isinstance(mask, torch.Tensor) or mask.dim() != MATRIX or mask.numel() > LARGEST:
            return
        behind = mask.detach().cpu() == 0
        for tokens in self._watch.marks.tensors((arguments, keywords)):
            whole = not tokens.is_floating_point() and tokens.dtype != torch.bool
            if tokens is not mask and whole and tokens.shape == mask.shape and bool(behind.any()):
                self._masked.append((tokens, behind))
                return

    def _declared(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Remembers tokens, and what the one embedding that has it takes for padding."""
        embedding = self._watch.torch.nn.Embedding
        fills = {part.padding_idx for part in module.modules() if isinstance(part, embedding)} - {None}
        for tokens in self._watch.marks.tensors((arguments, keywords)) if len(fills) == 1 else ():
            if tokens.dtype == self._watch.torch.int64 and tokens.dim() == MATRIX and tokens.numel() <= LARGEST:
                self._words.append((tokens, *fills))
                return

    def _sequences(self) -> Iterator[tuple[Any, Any]]:
        return ((entry.made, entry.behind) for entry in reversed(self._last) if not entry.telling)

    def _next(self, targets: Any) -> Any:
        """Where targets that are the next tokens end with padding; None for any others."""
        for tokens, fill in reversed(self._words):
            if tokens.numel() == targets.numel():
                rows = targets.detach().cpu().reshape(tokens.shape)
                if bool((rows[:, :-1] == tokens[:, 1:].cpu()).all()):
                    return ending(rows, fill).reshape(targets.shape)
        return None

    def beside(self, targets: Any) -> Any:
        """Where the tokens that a model got last end with padding, if targets have one value there; None for other targets."""
        tokens, fill = self._words[-1] if self._words else (None, 0)
        if (
            tokens is None
            or tokens.numel() != targets.numel()
            or tuple(targets.shape) not in (tuple(tokens.shape), (tokens.numel(),))
        ):
            return None
        behind = ending(tokens.detach().cpu(), fill).reshape(targets.shape).to(targets.device)
        return behind if targets[behind].unique().numel() == 1 else None

    def between(self, targets: Any) -> Any:
        """Where the tokens that a model got last end with padding, if targets of the same shape have one number there."""
        tokens, fill = self._words[-1] if self._words else (None, 0)
        if tokens is None or targets.shape[:MATRIX] != tokens.shape or targets.numel() > LARGEST:
            return None
        behind = ending(tokens.detach().cpu(), fill)
        return behind if targets.detach().cpu()[behind].unique().numel() == 1 else None

    def of(self, tensor: Any) -> Any:
        """Where these sequences, side by side in whichever order, have ended, a row for each; None for any other tensor."""
        return next((where for _, where in self._found(tensor)), None)

    def entry(self, tensor: Any) -> SideBySide | None:
        """What `pad_sequence` made that has these sequences; None for any other tensor."""
        return next((entry for entry, _ in self._found(tensor)), None)

    def has(self, tensor: Any) -> bool:
        """Whether a tensor has padded sequences, or a part of them."""
        if any(tensor is each for each, _ in (*self._masked, *self._words)):
            return True
        wanted = tensor.detach().cpu().reshape(-1)
        return any(
            part.numel() == wanted.numel() and _same(part.reshape(-1), wanted)
            for entry in self._last
            for part, _ in _parts(entry.made, entry.behind)
        )

    def _found(self, tensor: Any) -> Iterator[tuple[SideBySide, Any]]:
        if tensor.dim() < MATRIX or tensor.numel() > LARGEST or tensor.is_sparse:
            return
        wanted = tensor.detach().cpu()
        for entry in reversed(self._last):
            for each, where in _stretches(entry.made, entry.behind):
                for arranged in (each, each.transpose(0, 1)):
                    if arranged.shape == wanted.shape and _same(arranged, wanted):
                        yield entry, where

    def among(self, targets: Any) -> Any:
        """Where targets are padding; None where they are nothing that was padded, or where that cannot be told."""
        wanted = targets.detach().cpu().reshape(-1)
        found = [
            where.reshape(targets.shape)
            for padded, behind in (*self._sequences(), *reversed(self._masked))
            if padded.dim() == MATRIX and not padded.is_floating_point()
            for part, where in _parts(padded, behind)
            if part.numel() == wanted.numel() and _same(part.reshape(-1), wanted)
        ]
        if not found and (behind := self._next(targets)) is not None:
            found = [behind]
        if not found or any(not bool((each == found[0]).all()) for each in found[1:]):
            return None
        return found[0].to(targets.device)


def _tells_ends(sequences: Sequence[Any], fill: Any) -> bool:
    """Whether padding goes on with what all sequences end with, or is all that distinguishes targets of a single value.

    That is how a model is taught when to stop.
    """
    rows = [each for each in sequences if len(each)]
    if all(bool((row[-1] == fill).all()) for row in rows):
        return True
    first = rows[0].reshape(-1)[0]
    return bool(first != fill) and all(bool((row == first).all()) for row in rows)


def ending(rows: Any, fill: int) -> Any:
    """Where each row ends with a number."""
    return (rows == fill).flip(1).long().cumprod(1).flip(1).bool()


def _same(one: Any, other: Any) -> bool:
    return bool((one.detach().cpu() == other).all())


def _stretches(padded: Any, behind: Any) -> Iterator[tuple[Any, Any]]:
    """All steps, and all but the first or the last one."""
    yield padded, behind
    yield padded[:, :-1], behind[:, :-1]
    yield padded[:, 1:], behind[:, 1:]


def _parts(padded: Any, behind: Any) -> Iterator[tuple[Any, Any]]:
    """What targets are made of padded sequences: such stretches, either way round, or a single step or sequence."""
    for part, where in _stretches(padded, behind):
        yield part, where
        yield part.T, where.T
    yield from zip(padded, behind)  # noqa: B905 - one for each
    yield from zip(padded.T, behind.T)  # noqa: B905 - as above
