"""What may be behind symptoms: the rules that find it, and the rungs of the checkup that show it."""

from __future__ import annotations

from msgspec import Struct


class Cause(Struct, frozen=True):
    """What may be behind a symptom, the rules that find it, and the rungs that may show it.

    `kinds` are the kinds of failures that support it (`Rung.about`), and `excluded_by` the rungs that contradict it when they
    pass, where the symptom would have shown there. A rung that passes without having measured the cause is no evidence.
    `facts` are the labels of measurements that speak for it where they are there.
    """

    what: str
    codes: tuple[str, ...] = ()
    rungs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    excluded_by: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


UPDATE = Cause(
    "gradients are not cleared, not computed or not applied",
    ("TDR101", "TDR102", "TDR103", "TDR104", "TDR105", "TDR111", "TDR113"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
    excluded_by=("overfit-one-batch",),
)
PARAMETERS = Cause(
    "parameters are not registered, not passed to the optimizer, or frozen",
    ("TDR114", "TDR117", "TDR118", "TDR119", "TDR301", "TDR302", "TDR304", "TDR307", "TDR308", "TDR310"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
    facts=("frozen parameters", "trainable but not in the optimizer"),
)
LOSS = Cause(
    "the loss receives inputs of the wrong kind",
    ("TDR201", "TDR203", "TDR204", "TDR205", "TDR206", "TDR207", "TDR208", "TDR211", "TDR213", "TDR214", "TDR216"),
    ("baseline", "overfit-one-batch"),
    kinds=("does not fall", "too high", "probabilities"),
)
CUT = Cause(
    "the loss is detached from the graph",
    ("TDR115", "TDR116", "TDR118"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
    excluded_by=("overfit-one-batch",),
)
RATE = Cause(
    "the learning rate is too high or too low, or its scheduler steps at the wrong time or never",
    ("TDR110", "TDR122", "TDR123", "TDR132"),
    ("learning-rate",),
    kinds=("steps too large", "steps too small"),
    excluded_by=("learning-rate",),
)
DATA = Cause(
    "the data is wrong: labels, order or scale",
    ("TDR701", "TDR711", "TDR715"),
    ("inspect", "errors"),
    kinds=("labels", "order", "data not finite"),
)
CONSTANT = Cause(
    "the output of the model does not depend on the input",
    ("TDR309", "TDR311", "TDR312", "TDR313"),
    ("baseline", "overfit-one-batch"),
    kinds=("does not fall",),
    excluded_by=("overfit-one-batch",),
)
MODE = Cause(
    "dropout or batch norm is in the wrong mode",
    ("TDR306", "TDR314", "TDR401", "TDR403", "TDR406", "TDR607"),
    ("repeatability",),
    kinds=("drops in evaluation", "other rows"),
)
LEAK = Cause(
    "training and validation share samples, or leak into each other",
    ("TDR112", "TDR707", "TDR708"),
    ("inspect",),
    kinds=("shared rows",),
)
AUGMENTED = Cause(
    "validation samples are drawn or augmented anew each time",
    ("TDR702", "TDR706", "TDR712"),
    ("inspect",),
    kinds=("random samples",),
)
AVERAGE = Cause(
    "the metric is averaged wrongly",
    ("TDR405", "TDR407", "TDR408", "TDR410", "TDR411", "TDR412"),
    ("metric",),
    kinds=("metric",),
)
GRAPHS = Cause(
    "graphs of earlier steps are retained",
    ("TDR501", "TDR502", "TDR503", "TDR504", "TDR505", "TDR506", "TDR402"),
    ("small-subset",),
    kinds=("kept graphs", "slower"),
    excluded_by=("small-subset",),
)
NUMBERS = Cause(
    "a logarithm, a division or a root produces NaN or infinity",
    ("TDR120", "TDR210", "TDR219"),
    ("non-finite",),
    kinds=("not finite",),
)
EXPLODING = Cause(
    "gradients explode and are not clipped",
    ("TDR108", "TDR121", "TDR131"),
    ("non-finite", "learning-rate"),
    kinds=("steps too large",),
)
HALF = Cause(
    "half precision without loss scaling, or with incorrect use of the scaler",
    ("TDR109", "TDR805"),
    ("device", "non-finite"),
    kinds=("precision",),
)
BAD_BATCH = Cause(
    "a batch contains non-finite values, outliers, or values of a large scale",
    ("TDR711", "TDR715"),
    ("inspect",),
    kinds=("data not finite",),
)
LOADER = Cause(
    "the loader is slower than the step",
    ("TDR703", "TDR705"),
    ("throughput",),
    kinds=("loader",),
    excluded_by=("throughput",),
)
WAITS = Cause(
    "the script synchronizes with the GPU at every step",
    ("TDR808", "TDR905", "TDR903"),
    ("throughput",),
    kinds=("loop",),
    excluded_by=("throughput",),
)
CHECKPOINT = Cause(
    "the checkpoint is incomplete, or is loaded differently from how it was saved",
    ("TDR303", "TDR601", "TDR602", "TDR605", "TDR606", "TDR608", "TDR609", "TDR610"),
    ("repeatability", "receipt"),
    kinds=("loading", "resuming", "checkpoint"),
)
SEEDS = Cause(
    "random numbers are not seeded, or all workers draw the same ones",
    ("TDR704", "TDR901", "TDR902"),
    ("repeatability", "receipt"),
)
DEVICE = Cause(
    "tensors or modules are on an unexpected device or in an unexpected precision",
    ("TDR303", "TDR801", "TDR802", "TDR803", "TDR810"),
    ("device",),
    kinds=("precision", "devices"),
)
SYNC = Cause(
    "processes do not synchronize gradients, or read the same samples",
    ("TDR710", "TDR809", "TDR811", "TDR812", "TDR814", "TDR816", "TDR817"),
    (),
)
ACCUMULATION = Cause(
    "gradient accumulation is scaled or stepped incorrectly",
    ("TDR106", "TDR107", "TDR128"),
    ("overfit-one-batch",),
    kinds=("steps too large",),
)
PREPARED = Cause(
    "validation samples are preprocessed differently from training samples",
    ("TDR706", "TDR711", "TDR713"),
    ("inspect",),
)
MEASURED = Cause(
    "the metric covers only the last batch, compares wrong shapes, or is averaged wrongly",
    ("TDR214", "TDR405", "TDR407", "TDR408", "TDR409", "TDR410", "TDR411", "TDR412", "TDR712"),
    ("metric",),
    kinds=("metric",),
)
TARGETS = Cause(
    "predictions and labels do not match: order, shape or numbering",
    ("TDR207", "TDR208", "TDR214", "TDR218"),
    ("inspect",),
    kinds=("labels",),
)
FROZEN = Cause("batch norm, a stale gradient or weight decay changes frozen layers", ("TDR125",), ())
NOT_FROZEN = Cause(
    "nothing is frozen: an attribute is misspelled, or an adapter is set up incorrectly", ("TDR117", "TDR126"), ()
)
MIXED = Cause(
    "the output for a sample depends on the other samples in the batch, or on padding",
    ("TDR216", "TDR220", "TDR221", "TDR315", "TDR317", "TDR318", "TDR714", "TDR217"),
    ("repeatability",),
    kinds=("other rows",),
)
FEW_ROWS = Cause("batch norm computes its statistics over too few samples", ("TDR815",), ("inspect",))
IGNORED = Cause("the model ignores its input, or reduces it to one number", ("TDR213", "TDR316"), ("baseline",))
RARE = Cause("labels look swapped, or classes are rare", (), ("errors", "inspect"), kinds=("labels",))
CADENCE = Cause(
    "gradients are cleared, clipped or applied at the wrong batch of an accumulation window",
    ("TDR101", "TDR102", "TDR103", "TDR104", "TDR108", "TDR109"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
    excluded_by=("overfit-one-batch",),
)
ALIAS = Cause("the best weights are stored by reference, so training overwrites them", ("TDR602",), ("receipt",))
UNBOUNDED = Cause(
    "the loss is zero or negative for its inputs: one output, no logarithm, wrong targets",
    ("TDR203", "TDR207", "TDR208", "TDR211", "TDR213"),
    ("baseline",),
    kinds=("probabilities",),
)
STATISTICS = Cause(
    "batch norm statistics do not match the data: few samples, frozen, or mixed data",
    ("TDR125", "TDR315", "TDR815"),
    ("repeatability",),
    kinds=("other rows",),
)
REBUILT = Cause("the optimizer or its scheduler is recreated during training", ("TDR122",), ())
RESUMED = Cause(
    "the state of the optimizer or its scheduler is not restored",
    ("TDR605",),
    ("receipt",),
    kinds=("resuming", "checkpoint"),
)
REBUILT_LAYER = Cause(
    "a layer is recreated in `forward`",
    ("TDR304",),
    ("repeatability",),
    kinds=("drops in evaluation",),
    excluded_by=("repeatability",),
)
RECORDED = Cause("validation records autograd graphs", ("TDR402",))
TOO_LARGE = Cause("the batch does not fit into memory", (), ("throughput",))
KERNELS = Cause("the compiler or cuDNN selects kernels first", ("TDR902",), ("device", "throughput"))
ROUNDING = Cause("rounding errors accumulate", (), ("device",))
PRECISION = Cause(
    "the difference is larger than rounding errors",
    ("TDR806", "TDR810"),
    ("device",),
    kinds=("precision", "devices"),
)
STARTING = Cause(
    "workers restart in each epoch, or much data is read before the first batch", ("TDR703",), ("throughput",)
)
TARGET_FORM = Cause(
    "the loss does not accept the dtype, shape or values of its targets",
    ("TDR207", "TDR208", "TDR213", "TDR214"),
    ("inspect",),
    kinds=("labels",),
)
BATCH_FORM = Cause(
    "the batches have another dtype, shape or length than the model or the loader expects", (), ("inspect",)
)
NO_GRAPH = Cause(
    "the loss has no graph, or its graph is used twice or changed in place",
    ("TDR115", "TDR116", "TDR118", "TDR119", "TDR504"),
)
EMPTY = Cause(
    "the layers are not registered, so the model has no parameters",
    ("TDR301", "TDR302", "TDR307", "TDR308"),
)
