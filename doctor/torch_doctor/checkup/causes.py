"""What may be behind symptoms: the rules that find it, and the rungs of the checkup that show it."""

from __future__ import annotations

from msgspec import Struct


class Cause(Struct, frozen=True):
    """What may be behind a symptom, the rules that find it, and the rungs that may show it.

    `kinds` are the kinds of failures that support it (`Rung.about`), and `excluded_by` the rungs that contradict it when they
    pass, where the symptom would have shown there. A rung that passes without having measured the cause is no evidence.
    """

    what: str
    codes: tuple[str, ...] = ()
    rungs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    excluded_by: tuple[str, ...] = ()


UPDATE = Cause(
    "gradients are not cleared, not computed or not applied",
    ("TDR101", "TDR102", "TDR103", "TDR104", "TDR105", "TDR111", "TDR113"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
    excluded_by=("overfit-one-batch",),
)
PARAMETERS = Cause(
    "parameters are not registered, not given to the optimizer, or frozen",
    ("TDR114", "TDR117", "TDR118", "TDR119", "TDR301", "TDR302", "TDR304", "TDR307", "TDR308", "TDR310"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
)
LOSS = Cause(
    "the loss does not get what it expects",
    ("TDR201", "TDR203", "TDR204", "TDR205", "TDR206", "TDR207", "TDR208", "TDR211", "TDR213", "TDR214", "TDR216"),
    ("baseline", "overfit-one-batch"),
    kinds=("does not fall", "too high", "probabilities"),
)
CUT = Cause(
    "the loss is cut from the graph",
    ("TDR115", "TDR116", "TDR118"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
    excluded_by=("overfit-one-batch",),
)
RATE = Cause(
    "the learning rate does not fit, or its schedule is stepped at the wrong time",
    ("TDR110", "TDR122", "TDR123"),
    ("learning-rate",),
    kinds=("steps too large", "steps too small"),
    excluded_by=("learning-rate",),
)
DATA = Cause(
    "the data is not what it seems: labels, order, scale",
    ("TDR701", "TDR711"),
    ("inspect", "errors"),
    kinds=("labels", "order", "data not finite"),
)
CONSTANT = Cause(
    "the model answers the same whatever it is given",
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
    "training and validation read the same rows, or see each other",
    ("TDR112", "TDR707", "TDR708"),
    ("inspect",),
    kinds=("shared rows",),
)
AUGMENTED = Cause("validation rows are drawn or prepared anew each time", ("TDR702", "TDR706", "TDR712"), ("inspect",))
AVERAGE = Cause("the figure is averaged wrongly", ("TDR405", "TDR407", "TDR408", "TDR410"), ())
GRAPHS = Cause(
    "graphs are kept alive",
    ("TDR501", "TDR502", "TDR503", "TDR504", "TDR505", "TDR506", "TDR402"),
    ("small-subset",),
    kinds=("kept graphs", "slower"),
    excluded_by=("small-subset",),
)
NUMBERS = Cause(
    "a logarithm, a division or a root leaves the numbers", ("TDR120", "TDR210"), ("non-finite",), kinds=("not finite",)
)
EXPLODING = Cause(
    "gradients explode and nothing clips them",
    ("TDR108", "TDR121"),
    ("non-finite", "learning-rate"),
    kinds=("steps too large",),
)
HALF = Cause(
    "half precision without loss scaling, or with its protocol broken",
    ("TDR109", "TDR805"),
    ("device", "non-finite"),
    kinds=("precision",),
)
BAD_BATCH = Cause(
    "a batch holds values that are not finite, or far from the others",
    ("TDR711",),
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
    "the script waits for the GPU at every step",
    ("TDR808", "TDR905", "TDR903"),
    ("throughput",),
    kinds=("loop",),
    excluded_by=("throughput",),
)
CHECKPOINT = Cause(
    "the checkpoint does not hold everything, or is not loaded as it was saved",
    ("TDR303", "TDR601", "TDR602", "TDR605", "TDR606", "TDR608", "TDR609", "TDR610"),
    ("repeatability", "receipt"),
    kinds=("loading", "resuming", "checkpoint"),
)
SEEDS = Cause(
    "random numbers are not seeded, or workers draw the same",
    ("TDR704", "TDR901", "TDR902"),
    ("repeatability", "receipt"),
)
DEVICE = Cause(
    "tensors or modules are on another device or in another precision than it seems",
    ("TDR303", "TDR801", "TDR802", "TDR803", "TDR810"),
    ("device",),
    kinds=("precision", "devices"),
)
SYNC = Cause(
    "processes do not exchange their gradients, or read the same rows",
    ("TDR710", "TDR809", "TDR811", "TDR812", "TDR814", "TDR816", "TDR817"),
    (),
)
ACCUMULATION = Cause(
    "accumulated gradients are scaled or stepped wrongly",
    ("TDR106", "TDR107"),
    ("overfit-one-batch",),
    kinds=("steps too large",),
)
PREPARED = Cause(
    "validation rows are prepared in another way than those of training", ("TDR706", "TDR711", "TDR713"), ("inspect",)
)
MEASURED = Cause(
    "the score is that of the last batch, is compared in the wrong shape, or is averaged wrongly",
    ("TDR214", "TDR405", "TDR407", "TDR408", "TDR409", "TDR410", "TDR712"),
    (),
)
TARGETS = Cause(
    "predictions and labels do not fit each other: order, shape, numbers",
    ("TDR207", "TDR208", "TDR214", "TDR218"),
    ("inspect",),
    kinds=("labels",),
)
FROZEN = Cause("batch norm, an old gradient or weight decay changes what is frozen", ("TDR125",), ())
NOT_FROZEN = Cause(
    "nothing is frozen: an attribute is misspelt, or an adapter is wired wrongly", ("TDR117", "TDR126"), ()
)
MIXED = Cause(
    "what the model gives for a row depends on the other rows, or on padding",
    ("TDR216", "TDR315", "TDR714", "TDR217"),
    ("repeatability",),
    kinds=("other rows",),
)
FEW_ROWS = Cause("batch norm sees few rows at once", ("TDR815",), ("inspect",))
IGNORED = Cause("the model does not read its input, or reduces it to one number", ("TDR213", "TDR316"), ("baseline",))
RARE = Cause("labels look swapped, or classes are rare", (), ("errors", "inspect"), kinds=("labels",))
CADENCE = Cause(
    "gradients are cleared, clipped or stepped at the wrong batch of a window",
    ("TDR101", "TDR102", "TDR103", "TDR104", "TDR108", "TDR109"),
    ("overfit-one-batch",),
    kinds=("does not fall",),
    excluded_by=("overfit-one-batch",),
)
ALIAS = Cause("the best weights are kept by reference, and training overwrites them", ("TDR602",), ("receipt",))
UNBOUNDED = Cause(
    "the loss gets values for which it is zero or negative: one output, no logarithm, other targets",
    ("TDR203", "TDR207", "TDR208", "TDR211", "TDR213"),
    ("baseline",),
    kinds=("probabilities",),
)
STATISTICS = Cause(
    "the statistics of batch norm are not those of the data: few rows, frozen, or mixed data",
    ("TDR125", "TDR315", "TDR815"),
    ("repeatability",),
    kinds=("other rows",),
)
REBUILT = Cause("the optimizer or its schedule is built anew while training goes on", ("TDR122",), ())
RESUMED = Cause(
    "the state of the optimizer or of its schedule is not restored",
    ("TDR605",),
    ("receipt",),
    kinds=("resuming", "checkpoint"),
)
REBUILT_LAYER = Cause(
    "a layer is built anew in `forward`",
    ("TDR304",),
    ("repeatability",),
    kinds=("drops in evaluation",),
    excluded_by=("repeatability",),
)
RECORDED = Cause("validation records graphs", ("TDR402",))
TOO_LARGE = Cause("the batch is larger than what fits", (), ("throughput",))
KERNELS = Cause("the compiler or cuDNN chooses its kernels first", ("TDR902",), ("device", "throughput"))
ROUNDING = Cause("rounding adds up", (), ("device",))
PRECISION = Cause(
    "the difference is more than rounding",
    ("TDR806", "TDR810"),
    ("device",),
    kinds=("precision", "devices"),
)
STARTING = Cause(
    "workers start anew for each epoch, or much is read before the first batch", ("TDR703",), ("throughput",)
)
