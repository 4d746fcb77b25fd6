"""Arguments that may be on the CPU wherever the tensor is that a function computes with, and those that have to be.

Everything else that a function of torch gets has to be on one device, but for tensors without dimensions.

Sources: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html,
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.ctc_loss.html,
https://docs.pytorch.org/docs/stable/generated/torch.tensor_split.html, https://docs.pytorch.org/docs/stable/tensors.html,
https://docs.pytorch.org/docs/stable/tensor_view.html, and torch/nn/utils/rnn.py of torch 2.13.
"""

from __future__ import annotations

from torch_doctor.static.tables import words
from torch_doctor.static.tables.frameworks import DECLARED

ON_THE_CPU: dict[str, tuple[tuple[int, str], ...]] = {
    # These have to be there: torch refuses any other.
    # https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
    "pack_padded_sequence": ((1, "lengths"),),
    "PackedSequence": ((1, "batch_sizes"),),
    "tensor_split": ((1, "indices_or_sections"), (1, "tensor_indices_or_sections")),
    # These may be: they are read as numbers, or cuDNN wants them there.
    "unpad_sequence": ((1, "lengths"),),
    "ctc_loss": ((1, "targets"), (2, "input_lengths"), (3, "target_lengths")),
    "CTCLoss": ((1, "targets"), (2, "input_lengths"), (3, "target_lengths")),
}
"""By the last word of a function's name the places and names of its arguments that may be, or have to be, on the CPU."""

FIRST_ALONE: frozenset[str] = frozenset(
    words(
        """
        expand_as view_as reshape_as resize_as_ sum_to_size copy_ set_
        index_put index_put_
        new new_tensor new_zeros new_ones new_full new_empty
        pad view reshape resize_ expand repeat tile narrow split split_with_sizes chunk interpolate upsample roll unfold fold
        broadcast_to unflatten affine_grid one_hot max_unpool1d max_unpool2d max_unpool3d
        zeros ones full
        """
    )
)
"""Functions whose other tensors give a shape, are copied from or index, or are read as numbers: sizes and amounts."""

ANSWERS_ON_THE_CPU = frozenset(("torch.nn.utils.rnn.pad_packed_sequence",))
"""Functions that return a pair, of which the second is on the CPU wherever the first is: the lengths of sequences."""

ASKING: tuple[str, ...] = (
    *words("cuda device devices gpu gpus mps xpu hpu npu xla DataParallel DistributedDataParallel"),
    *sorted({name.partition(".")[0] for name in DECLARED} - {"torch"}),
)
"""Identifiers of which a project has at least one when it may ever run on a GPU: devices, and frameworks that move
models by themselves."""

TRAINING: tuple[str, ...] = ("backward", "step", "fit")
"""Identifiers of which a file has at least one when it trains, or hands a model to somebody who does."""
