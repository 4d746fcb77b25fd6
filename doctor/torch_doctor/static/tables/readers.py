"""What functions and methods look at when they get scores, by the last part of their names."""

from __future__ import annotations

from typing import Final

NEUTRAL: Final = frozenset(
    ("backward", "dim", "element_size", "empty_like", "enumerate", "full_like", "get_device", "hasattr", "id",
     "is_contiguous", "is_floating_point", "is_pinned", "isinstance", "iter", "len", "list", "ndimension", "nelement",
     "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "numel", "ones_like", "rand_like", "randn_like",
     "register_hook", "requires_grad_", "result_type", "retain_grad", "size", "stride", "synchronize", "tuple", "type",
     "zeros_like", "zip")
)  # fmt: skip
"""They look at the form of a tensor, or give its rows on one by one."""
LIKE: Final = frozenset(("expand_as", "reshape_as", "to", "type_as", "view_as"))
"""Methods whose argument only tells a form."""
ORDER: Final = frozenset(("argmax", "argsort", "max", "nanargmax", "sort", "topk"))
"""They give places, for which only the order of the numbers along a dimension counts."""
LAST: Final = frozenset(("argsort", "sort", "topk"))
"""Those of them that go along the last dimension by themselves."""
POSITIONS: Final = {"topk": 2}
"""The position of the dimension among the arguments, where it is not the second."""
METRICS: Final = frozenset(("average_precision_score", "precision_recall_curve", "roc_auc_score", "roc_curve"))
"""Measures for which only the order of all numbers counts."""
SHARES: Final = frozenset(("bernoulli", "bernoulli_", "multinomial", "round"))
"""They take what they get for probabilities."""
DISTRIBUTIONS: Final = frozenset(("Bernoulli", "Categorical", "OneHotCategorical"))
"""Distributions that take what they get for probabilities, unless it is given as `logits`."""
COMPARING: Final = frozenset(("eq", "ge", "gt", "le", "lt", "ne"))
"""Methods and functions that compare, as the operators do."""
MIXING: Final = frozenset(
    ("add", "addcmul", "average", "cumsum", "div", "einsum", "interpolate", "lerp", "matmul", "mean", "mm", "mul", "nanmean",
     "sub", "sum", "true_divide", "upsample")
)  # fmt: skip
"""They compute new numbers of several, which may still be probabilities."""
STORING: Final = frozenset(("add", "append", "appendleft", "extend", "insert", "put", "setdefault", "update"))
"""Methods that put something into a container."""
EXPORTS: Final = frozenset(
    ("torch.export.export", "torch.jit.script", "torch.jit.trace", "torch.onnx.dynamo_export", "torch.onnx.export")
)
"""They turn a model, with what its code computes, into something that others call."""
PICKLES: Final = "torch.save"
"""It does so for layers of torch; of a class of the project it writes the name, not the code."""
PREDICTS: Final = "predict"
"""The method of trainers that returns what a model gives."""
