"""Symptoms as people say them, and what decides what is behind them: rungs of the checkup, and rules."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.checkup.outcome import RUNGS

if TYPE_CHECKING:
    from collections.abc import Iterable


NEEDS = {"errors": ("small-subset",)}
"""Rungs that look at what others have trained."""


class Cause(Struct, frozen=True):
    """What may be behind a symptom, the rules that find it, and the rungs that show it."""

    what: str
    codes: tuple[str, ...] = ()
    rungs: tuple[str, ...] = ()


class Symptom(Struct, frozen=True):
    """What people see: its name, other words for it, and its causes, the most likely first."""

    name: str
    phrases: tuple[str, ...]
    causes: tuple[Cause, ...]

    @property
    def rungs(self) -> tuple[str, ...]:
        """The rungs that decide it, in the order in which they are climbed."""
        wanted = {rung for cause in self.causes for rung in cause.rungs}
        wanted |= {needed for rung in wanted for needed in NEEDS.get(rung, ())}
        return tuple(rung for rung in RUNGS if rung in wanted)


_UPDATE = Cause(
    "gradients are not cleared, not computed or not applied",
    ("TDR101", "TDR102", "TDR103", "TDR104", "TDR105", "TDR111", "TDR113"),
    ("overfit-one-batch",),
)
_PARAMETERS = Cause(
    "parameters are not registered, not given to the optimizer, or frozen",
    ("TDR114", "TDR117", "TDR118", "TDR119", "TDR301", "TDR302", "TDR304", "TDR307", "TDR308", "TDR310"),
    ("overfit-one-batch",),
)
_LOSS = Cause(
    "the loss does not get what it expects",
    ("TDR201", "TDR203", "TDR204", "TDR205", "TDR206", "TDR207", "TDR208", "TDR211", "TDR213", "TDR214", "TDR216"),
    ("baseline", "overfit-one-batch"),
)
_CUT = Cause("the loss is cut from the graph", ("TDR115", "TDR116", "TDR118"), ("overfit-one-batch",))
_RATE = Cause(
    "the learning rate does not fit, or its schedule is stepped at the wrong time",
    ("TDR110", "TDR122", "TDR123"),
    ("learning-rate",),
)
_DATA = Cause("the data is not what it seems: labels, order, scale", ("TDR701", "TDR711"), ("inspect", "errors"))
_CONSTANT = Cause(
    "the model answers the same whatever it is given",
    ("TDR309", "TDR311", "TDR312", "TDR313"),
    ("baseline", "overfit-one-batch"),
)
_MODE = Cause(
    "dropout or batch norm is in the wrong mode", ("TDR306", "TDR401", "TDR403", "TDR607"), ("repeatability",)
)
_LEAK = Cause(
    "training and validation read the same rows, or see each other", ("TDR112", "TDR707", "TDR708"), ("inspect",)
)
_AUGMENTED = Cause("validation rows are drawn or prepared anew each time", ("TDR702", "TDR706", "TDR712"), ("inspect",))
_AVERAGE = Cause("the figure is averaged wrongly", ("TDR405", "TDR407"), ("small-subset",))
_GRAPHS = Cause(
    "graphs are kept alive", ("TDR501", "TDR502", "TDR503", "TDR504", "TDR505", "TDR506", "TDR402"), ("small-subset",)
)
_NUMBERS = Cause("a logarithm, a division or a root leaves the numbers", ("TDR120", "TDR210"), ("non-finite",))
_EXPLODING = Cause("gradients explode and nothing clips them", ("TDR108", "TDR121"), ("non-finite", "learning-rate"))
_HALF = Cause(
    "half precision without loss scaling, or with its protocol broken", ("TDR109", "TDR805"), ("device", "non-finite")
)
_BAD_BATCH = Cause("a batch holds values that are not finite, or far from the others", ("TDR711",), ("inspect",))
_LOADER = Cause("the loader is slower than the step", ("TDR703", "TDR705"), ("throughput",))
_WAITS = Cause("the script waits for the GPU at every step", ("TDR808", "TDR905", "TDR903"), ("throughput",))
_CHECKPOINT = Cause(
    "the checkpoint does not hold everything, or is not loaded as it was saved",
    ("TDR303", "TDR601", "TDR602", "TDR605", "TDR606", "TDR608"),
    ("repeatability", "receipt"),
)
_SEEDS = Cause(
    "random numbers are not seeded, or workers draw the same",
    ("TDR704", "TDR901", "TDR902"),
    ("repeatability", "receipt"),
)
_DEVICE = Cause(
    "tensors or modules are on another device or in another precision than it seems",
    ("TDR303", "TDR801", "TDR802", "TDR803", "TDR810"),
    ("device",),
)
_SYNC = Cause(
    "processes do not exchange their gradients, or read the same rows", ("TDR710", "TDR809", "TDR811", "TDR812"), ()
)
_ACCUMULATION = Cause(
    "accumulated gradients are scaled or stepped wrongly", ("TDR106", "TDR107"), ("overfit-one-batch",)
)

SYMPTOMS = (
    Symptom(
        "the loss does not decrease",
        ("not decreasing", "loss stays the same", "model does not learn", "loss is constant", "not learning anything",
         "not training", "loss does not go down", "loss is stuck", "does not converge"),
        (_UPDATE, _PARAMETERS, _LOSS, _RATE, _CUT, _DATA, _CONSTANT),
    ),
    Symptom(
        "the loss decreases, then stays flat",
        ("decreasing then flat", "plateau", "loss plateaus", "stops improving", "stops learning after a while", "loss saturates"),
        (_RATE, _LOSS, _PARAMETERS, _CONSTANT, _ACCUMULATION, _DATA),
    ),
    Symptom(
        "training is fine and validation is bad",
        ("training fine and validation bad", "overfitting", "overfits", "poor generalisation", "bad validation accuracy",
         "high training accuracy low test accuracy", "validation loss increases", "test set is much worse"),
        (_MODE, Cause("validation rows are prepared in another way", ("TDR706", "TDR711"), ("inspect",)), _LEAK, _AVERAGE, _DATA),
    ),
    Symptom(
        "validation is better than it can be",
        ("validation too good", "validation accuracy is too high", "suspiciously good", "test accuracy higher than training",
         "data leakage", "leak"),
        (_LEAK, _AVERAGE, _MODE),
    ),
    Symptom(
        "validation jumps",
        ("validation loss jumps", "validation is noisy", "validation accuracy fluctuates", "unstable validation",
         "validation oscillates", "different validation result each time"),
        (_MODE, _AUGMENTED, _AVERAGE, _RATE),
    ),
    Symptom(
        "accuracy is chance",
        ("accuracy is at chance", "accuracy like guessing", "random accuracy", "always predicts the same class",
         "predicts one class", "accuracy does not improve", "10 percent accuracy"),
        (_LOSS, _CONSTANT, _UPDATE, _PARAMETERS, _DATA),
    ),
    Symptom(
        "the loss is nan",
        ("loss is nan", "nan", "inf loss", "loss becomes nan", "nan gradients", "loss is infinite", "not finite", "loss overflows"),
        (_NUMBERS, _EXPLODING, _RATE, _HALF, _BAD_BATCH, _UPDATE),
    ),
    Symptom(
        "the loss explodes",
        ("diverges", "loss grows", "loss increases", "loss explodes", "exploding gradients", "training diverges", "loss goes up"),
        (_RATE, _UPDATE, _EXPLODING, _ACCUMULATION, _LOSS),
    ),
    Symptom(
        "the loss starts too high",
        ("initial loss too high", "loss is huge at the start", "first loss is wrong", "loss at initialisation", "loss starts high"),
        (_LOSS, _BAD_BATCH, _CONSTANT),
    ),
    Symptom(
        "memory grows",
        ("memory leak", "out of memory after some epochs", "oom after a while", "cuda out of memory", "ram grows",
         "memory increases every step", "slower every epoch", "gets slower and slower"),
        (_GRAPHS, Cause("validation records graphs", ("TDR402",), ("small-subset",)),
         Cause("the batch is larger than what fits", (), ("throughput",))),
    ),
    Symptom(
        "the GPU is idle",
        ("gpu idle", "low gpu utilisation", "gpu utilization is low", "gpu not used", "training is slow", "slow training",
         "data loading is slow", "dataloader bottleneck"),
        (_LOADER, _WAITS, _DEVICE),
    ),
    Symptom(
        "the first batch is slow",
        ("slow first batch", "first iteration is slow", "slow start", "long pause at the beginning of each epoch",
         "pause between epochs"),
        (_LOADER, Cause("the compiler or cuDNN chooses its kernels first", ("TDR902",), ("device", "throughput"))),
    ),
    Symptom(
        "the result is different after loading",
        ("different result after loading", "loaded model is worse", "checkpoint gives different output",
         "bad accuracy after loading", "loading weights changes the result", "resume is worse", "loss jumps after resuming"),
        (_MODE, _CHECKPOINT, _PARAMETERS, _SEEDS),
    ),
    Symptom(
        "the result is different on the GPU",
        ("different on gpu", "works on cpu but not on gpu", "cpu and cuda differ", "different result on another device",
         "fails on cuda", "expected all tensors to be on the same device"),
        (_DEVICE, _HALF, Cause("rounding adds up", (), ("device",))),
    ),
    Symptom(
        "two runs differ",
        ("results differ between runs", "not reproducible", "not deterministic", "different result every run",
         "seed does not work", "cannot reproduce"),
        (_SEEDS, _MODE, _CHECKPOINT),
    ),
    Symptom(
        "the same input gives two answers",
        ("output changes for the same input", "predictions are random", "inference is not deterministic",
         "model output differs each call"),
        (_MODE, Cause("a layer is built anew in `forward`", ("TDR304",), ("repeatability",)), _SEEDS),
    ),
    Symptom(
        "it is worse on several GPUs",
        ("ddp is worse", "multi gpu is worse", "distributed training does not converge", "several processes", "more gpus worse"),
        (_SYNC, _ACCUMULATION, _RATE, Cause("batch norm sees few rows in each process", (), ("inspect",))),
    ),
    Symptom(
        "mixed precision is worse",
        ("amp is worse", "fp16 does not work", "half precision diverges", "autocast nan", "bfloat16 is worse", "mixed precision"),
        (_HALF, _NUMBERS, Cause("the difference is more than rounding", ("TDR806", "TDR810"), ("device",))),
    ),
    Symptom(
        "some layers do not train",
        ("weights do not change", "parameters not updated", "gradient is none", "grad is none", "no gradient",
         "layer is not learning", "backbone is not training", "gradients are zero"),
        (_PARAMETERS, _CUT, _UPDATE, _CONSTANT),
    ),
    Symptom(
        "some classes are never right",
        ("one class is always wrong", "classes are confused", "bad on rare classes", "class imbalance",
         "wrong labels", "label noise"),
        (Cause("labels look swapped, or classes are rare", (), ("errors", "inspect")), _LOSS, _AVERAGE),
    ),
)  # fmt: skip
"""All that are known."""

SAME = {
    "val": "validation", "eval": "validation", "test": "validation", "acc": "accuracy", "train": "training", "cuda": "gpu",
    "gpus": "gpu", "oom": "memory", "ram": "memory", "inf": "nan", "infinity": "nan", "infinite": "nan",
    "fp16": "half", "lr": "rate",
    "doesnt": "not", "dont": "not", "isnt": "not", "no": "not", "never": "not", "wont": "not", "cant": "not", "cannot": "not",
    "nans": "nan", "weights": "parameters", "falling": "decrease", "fall": "decrease", "drop": "decrease", "down": "decrease",
    "up": "increase", "rises": "increase", "rise": "increase", "unstable": "jump", "fluctuate": "jump", "noisy": "jump",
}  # fmt: skip
"""Words that mean another one here."""
_LITTLE = """
a an and are at be but for from go goes has have i in is it its my of on or s so t that the there this to when with
"""
SILENT = frozenset(_LITTLE.split())
"""Words that say nothing of a symptom."""
ENOUGH, CLEAR = 0.34, 0.08
"""How much of what was said a symptom has to share, and how much more than the next one."""
ALIKE = 0.85


def match(said: str) -> list[tuple[float, Symptom]]:
    """The symptoms that share anything with what was said, the nearest first, each with a number from 0 to 1."""
    words = _words(said, known=_vocabulary())
    found = [(max(_shared(words, _words(phrase)) for phrase in (each.name, *each.phrases)), each) for each in SYMPTOMS]
    return sorted((pair for pair in found if pair[0] > 0), key=lambda pair: -pair[0])


def decided(said: str) -> tuple[Symptom | None, list[Symptom]]:
    """The symptom that was meant, if that can be told, and those that come next or that it may be."""
    found = match(said)
    if not found or found[0][0] < ENOUGH:
        return None, [symptom for _, symptom in found[:3]]
    if len(found) > 1 and found[0][0] - found[1][0] < CLEAR and found[0][0] < 1:
        near = [symptom for score, symptom in found if found[0][0] - score < CLEAR]
        return None, near[:4]
    return found[0][1], [symptom for _, symptom in found[1:3]]


def _vocabulary() -> set[str]:
    """All words that symptoms are described with."""
    texts = (text for symptom in SYMPTOMS for text in (symptom.name, *symptom.phrases))
    return {*SAME, *SILENT, *(word for text in texts for word in _plain(text))}


def _plain(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(r"['\u2019]", "", text.lower()))


def _words(text: str, known: Iterable[str] = ()) -> frozenset[str]:
    """The stems of the words that say something; one that is nearly a `known` one is taken for it."""
    words = _plain(text)
    if known:
        words = [next(iter(difflib.get_close_matches(word, known, n=1, cutoff=ALIKE)), word) for word in words]
    return frozenset(_stem(SAME.get(word, word)) for word in words if word not in SILENT)


def _stem(word: str) -> str:
    """A word without what its forms add."""
    for ending in ("ation", "ising", "izing", "ises", "izes", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 3:  # noqa: PLR2004 - letters that are left of a stem
            return word[: -len(ending)]
    return word


def _shared(said: frozenset[str], phrase: frozenset[str]) -> float:
    """How much of two sets of words is the same, from 0 to 1."""
    common = len(said & phrase)
    return common / len(said | phrase) if said and phrase else 0.0
