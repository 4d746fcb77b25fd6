"""Symptoms: what people see, and what may be behind it."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.checkup import causes
from torch_doctor.checkup.causes import Cause  # noqa: TC001 - msgspec reads it
from torch_doctor.checkup.outcome import RUNGS

NEEDS = {"errors": ("small-subset",)}
"""Rungs that look at what others have trained."""


class Symptom(Struct, frozen=True):
    """What people see: its name, its meaning in a line, how people say it, and its causes, the most likely first.

    `measured_by` are the rungs in which it would have shown itself, so that they speak against causes when they pass.
    `seen_by` is the rung that sees it where it occurs within a few steps; later it may still occur.
    """

    name: str
    meaning: str
    examples: tuple[str, ...]
    causes: tuple[Cause, ...]
    measured_by: tuple[str, ...] = ()
    seen_by: str = ""

    @property
    def rungs(self) -> tuple[str, ...]:
        """The rungs that decide it, in the order in which they are climbed."""
        wanted = {rung for cause in self.causes for rung in cause.rungs}
        wanted |= {needed for rung in wanted for needed in NEEDS.get(rung, ())}
        return tuple(rung for rung in RUNGS if rung in wanted)


SYMPTOMS = (
    Symptom(
        "the loss does not decrease",
        "the training loss does not change, or the model does not learn, train or converge at all",
        ("model does not learn", "loss is stuck at 0.69", "cannot overfit a single batch"),
        (causes.UPDATE, causes.PARAMETERS, causes.LOSS, causes.RATE, causes.CUT, causes.DATA, causes.CONSTANT),
        ("overfit-one-batch", "learning-rate"),
    ),
    Symptom(
        "the loss decreases, then stays flat",
        "learning starts and then stops: a plateau, no improvement after some epochs",
        ("loss plateaus", "stops improving after a few epochs", "loss saturates"),
        (causes.RATE, causes.LOSS, causes.PARAMETERS, causes.CONSTANT, causes.ACCUMULATION, causes.DATA),
    ),
    Symptom(
        "the loss jumps",
        "the training loss is unstable, noisy or has spikes",
        ("training loss oscillates", "sudden spikes in the loss", "training is unstable"),
        (causes.RATE, causes.UPDATE, causes.EXPLODING, causes.DATA, causes.ACCUMULATION, causes.MODE),
    ),
    Symptom(
        "the loss is nan",
        "the loss, an output, a gradient or a weight is NaN or infinite",
        ("nan after a few steps", "nan after a while", "inf loss", "gradients are not finite"),
        (causes.NUMBERS, causes.EXPLODING, causes.RATE, causes.HALF, causes.BAD_BATCH, causes.UPDATE),
        seen_by="non-finite",
    ),
    Symptom(
        "the loss explodes",
        "the training loss, gradients or weights grow, or training diverges",
        ("loss increases", "training diverges", "exploding gradients"),
        (causes.RATE, causes.UPDATE, causes.EXPLODING, causes.ACCUMULATION, causes.LOSS),
        ("learning-rate",),
    ),
    Symptom(
        "the loss starts too high",
        "the loss is far too large, at the start or throughout",
        ("initial loss is huge", "the first loss is wrong", "loss is in the millions"),
        (causes.LOSS, causes.BAD_BATCH, causes.CONSTANT),
    ),
    Symptom(
        "the loss is zero or negative",
        "the loss is 0, nearly 0 from the start, or below 0",
        ("loss is 0 from the first epoch", "why is my loss negative", "training loss is always zero"),
        (causes.UNBOUNDED, causes.CUT, causes.CONSTANT),
    ),
    Symptom(
        "training is fine and validation is bad",
        "overfitting, or validation, test or inference much worse than training",
        ("overfitting", "validation loss increases while training loss falls", "does not generalise"),
        (causes.MODE, causes.PREPARED, causes.LEAK, causes.AVERAGE, causes.DATA),
    ),
    Symptom(
        "validation is better than it can be",
        "suspiciously good validation, leakage, or validation better than training",
        ("suspiciously good", "validation loss is lower than training loss", "data leakage"),
        (causes.LEAK, causes.AVERAGE, causes.MODE),
    ),
    Symptom(
        "validation jumps",
        "the validation loss or metric fluctuates between epochs",
        ("validation accuracy fluctuates", "validation is noisy", "test loss oscillates"),
        (causes.MODE, causes.AUGMENTED, causes.AVERAGE, causes.RATE),
    ),
    Symptom(
        "it is worse in evaluation mode",
        "the same model is good in training mode and bad, or different, after `eval()`",
        ("model.eval() gives worse results", "bad output in eval mode", "good with model.train() and bad with model.eval()"),
        (causes.MODE, causes.STATISTICS, causes.PREPARED, causes.CHECKPOINT),
    ),
    Symptom(
        "accuracy is chance",
        "the accuracy is at the level of random guessing, or does not improve",
        ("accuracy like guessing", "accuracy stuck at 10%", "accuracy does not improve"),
        (causes.LOSS, causes.CONSTANT, causes.UPDATE, causes.PARAMETERS, causes.TARGETS, causes.DATA),
        ("overfit-one-batch",),
    ),
    Symptom(
        "accuracy is lower than expected",
        "a metric or the quality of the output is worse than in the paper, in another library, or than expected",
        ("cannot reproduce the results of the paper", "results are worse than they should be", "poor segmentation results"),
        (causes.MODE, causes.PREPARED, causes.LOSS, causes.RATE, causes.UPDATE, causes.MEASURED, causes.PARAMETERS, causes.DATA),
    ),
    Symptom(
        "a metric is wrong",
        "a metric or accuracy with impossible values: 0, above 1, negative, exactly the same each epoch",
        ("dice is always 0", "accuracy above 100%", "F1 never changes"),
        (causes.MEASURED, causes.TARGETS, causes.CONSTANT, causes.MODE, causes.RARE),
        ("metric",),
    ),
    Symptom(
        "some classes are never right",
        "one class, or rare ones, are wrong, never predicted or confused; imbalanced data; wrong labels",
        ("one class is always wrong", "bad on rare classes", "label noise"),
        (causes.RARE, causes.LOSS, causes.AVERAGE),
    ),
    Symptom(
        "the prediction is always the same",
        "the model gives the same output, class or image for every input",
        ("predicts the same class for every input", "output is constant", "mode collapse"),
        (causes.CONSTANT, causes.IGNORED, causes.LOSS, causes.UPDATE, causes.RATE, causes.RARE),
        ("overfit-one-batch",),
    ),
    Symptom(
        "the same input gives two answers",
        "inference is random: the same input gives a different output each time",
        ("output changes for the same input", "predictions are random", "inference is not deterministic"),
        (causes.MODE, causes.REBUILT_LAYER, causes.SEEDS),
        ("repeatability",),
    ),
    Symptom(
        "the result depends on the batch size",
        "an output or metric changes with the batch size, with padding, or with the other samples of the batch",
        ("different accuracy for different batch sizes", "wrong for batch size 1", "prediction changes with the batch"),
        (causes.MIXED, causes.MODE, causes.FEW_ROWS, causes.AVERAGE, causes.RATE, causes.ACCUMULATION),
    ),
    Symptom(
        "two runs differ",
        "training is not reproducible: a different result in each run, a seed without effect",
        ("not reproducible", "different result every run", "seed does not work"),
        (causes.SEEDS, causes.MODE, causes.CHECKPOINT),
    ),
    Symptom(
        "the result is different after loading",
        "a saved model gives a different output after loading",
        ("loaded model gives different output", "different result after loading", "loading does not restore the weights"),
        (causes.MODE, causes.CHECKPOINT, causes.PARAMETERS, causes.SEEDS),
    ),
    Symptom(
        "it is worse after loading",
        "a loaded model or a resumed run is worse: accuracy drops, the loss jumps, it starts from scratch",
        ("accuracy drops after loading", "loss jumps after resuming", "loaded model predicts garbage"),
        (causes.CHECKPOINT, causes.MODE, causes.RESUMED, causes.PREPARED, causes.PARAMETERS, causes.SEEDS),
    ),
    Symptom(
        "the kept model is not the best",
        "the checkpoint saved as best is the last one, or not the one with the best metric",
        ("best model is always the last epoch's", "best weights are overwritten", "saved best model is not the best"),
        (causes.ALIAS, causes.MEASURED, causes.CHECKPOINT, causes.MODE),
    ),
    Symptom(
        "some layers do not train",
        "weights do not change, or gradients are None, zero or vanishing",
        ("weights do not change", "gradient is none", "vanishing gradients"),
        (causes.PARAMETERS, causes.CUT, causes.UPDATE, causes.CONSTANT),
    ),
    Symptom(
        "frozen layers change",
        "frozen layers are trained or change anyway, or freezing has no effect",
        ("frozen layers are still updated", "weights change although requires_grad is False", "frozen batch norm changes"),
        (causes.FROZEN, causes.NOT_FROZEN, causes.CHECKPOINT),
    ),
    Symptom(
        "gradient accumulation does not work",
        "accumulating gradients is worse than, or differs from, a larger batch",
        ("accumulated gradients give another loss", "gradient accumulation is worse than a larger batch",
         "accumulation steps have no effect"),
        (causes.ACCUMULATION, causes.CADENCE, causes.FEW_ROWS, causes.RATE),
    ),
    Symptom(
        "the learning rate is not what it should be",
        "the learning rate or its schedule is stuck, 0, or changes at the wrong time",
        ("learning rate does not change", "scheduler sets the learning rate to 0", "lr is wrong"),
        (causes.RATE, causes.REBUILT, causes.RESUMED),
    ),
    Symptom(
        "memory grows",
        "GPU or host memory grows, leaks or runs out",
        ("memory leak", "cuda out of memory", "ram keeps increasing"),
        (
            causes.GRAPHS,
            causes.RECORDED,
            causes.TOO_LARGE,
        ),
        ("small-subset",),
    ),
    Symptom(
        "it gets slower and slower",
        "each step or epoch takes longer than the previous one",
        ("training slows down over time", "each epoch takes longer", "slower every epoch"),
        (causes.GRAPHS, causes.REBUILT, causes.LOADER),
        ("small-subset",),
    ),
    Symptom(
        "the GPU is idle",
        "training or loading data is slow, or the GPU is hardly used",
        ("low gpu utilisation", "training is slow", "the data loader is a bottleneck"),
        (causes.LOADER, causes.WAITS, causes.DEVICE),
        ("throughput",),
    ),
    Symptom(
        "the first batch is slow",
        "a long wait at the first batch or at the start of each epoch",
        ("first iteration is slow", "slow start", "long pause between epochs"),
        (causes.STARTING, causes.KERNELS, causes.LOADER),
    ),
    Symptom(
        "the result is different on the GPU",
        "results differ between CPU and GPU, it works on only one of them, or tensors are on several devices",
        ("works on cpu but not on gpu", "cpu and cuda give different results", "expected all tensors to be on the same device"),
        (causes.DEVICE, causes.HALF, causes.ROUNDING),
    ),
    Symptom(
        "mixed precision is worse",
        "half precision, autocast or loss scaling gives NaN or worse results than float32",
        ("fp16 does not work", "nan with autocast", "half precision diverges"),
        (causes.HALF, causes.NUMBERS, causes.PRECISION),
    ),
    Symptom(
        "it is worse on several GPUs",
        "training with several GPUs or processes is worse, different, or no faster",
        ("ddp is worse", "multi gpu training does not converge", "no speedup with 4 gpus"),
        (causes.SYNC, causes.ACCUMULATION, causes.RATE, causes.FEW_ROWS),
    ),
    Symptom(
        "the script stops with an error",
        "torch raises an error in the model, the loss, `backward()` or the loader",
        ("CrossEntropyLoss rejects my labels", "loss.backward() raises an error", "mat1 and mat2 shapes cannot be multiplied"),
        (causes.TARGET_FORM, causes.BATCH_FORM, causes.NO_GRAPH, causes.EMPTY, causes.DEVICE),
    ),
)  # fmt: skip
"""All that are known."""
BY_NAME = {symptom.name: symptom for symptom in SYMPTOMS}
