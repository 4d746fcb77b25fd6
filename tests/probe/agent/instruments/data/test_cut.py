"""The shortest sequence of a batch without its padding."""

from __future__ import annotations

import torch

from torch_doctor.probe.agent.instruments.data.cut import Cut

BEHIND = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 4 + [True]])


def test_what_lies_along_the_steps_is_cut_and_what_belongs_to_the_sequence_stays() -> None:
    tokens, images = torch.arange(15).reshape(3, 5), torch.arange(6.0).reshape(3, 2)
    [short, image, lengths, name] = Cut(torch, BEHIND).inputs([tokens, images, [5, 3, 4], "title"])
    assert short.tolist() == [[5, 6, 7]] * 2
    assert image.tolist() == [[2.0, 3.0]] * 2
    assert lengths == [3, 3]
    assert name == "title"


def test_steps_may_come_first_and_padding_may_lie_before_the_sequence() -> None:
    cut = Cut(torch, BEHIND.flip(1))
    assert cut.inputs({"steps": torch.arange(15).reshape(5, 3)})["steps"].tolist() == [[7, 7], [10, 10], [13, 13]]


def test_the_states_of_layers_have_the_sequences_behind_them_and_other_answers_cannot_be_told() -> None:
    cut = Cut(torch, BEHIND)
    assert cut.answer(torch.arange(6).reshape(2, 3)).tolist() == [[1, 1], [4, 4]]
    assert cut.answer(torch.zeros(4, 7)) is None
