"""Statements that are put where they belong: out of loops and blocks, with the conditions that they stand under."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.rand(64, 2)), batch_size=8, shuffle=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
scaler = torch.amp.GradScaler("cpu")


def train_epoch():
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return x.mean()


"""
CASES = [
    (
        "TDR110",
        """\
        for epoch in range(4):
            scheduler.step()
            loss = train_epoch()
            print(loss)
        """,
        """\
        for epoch in range(4):
            loss = train_epoch()
            scheduler.step()
            print(loss)
        """,
    ),
    (
        "TDR110",
        """\
        for epoch in range(4):
            if scheduler is not None:
                # decay
                scheduler.step()
            train_epoch()
        """,
        """\
        for epoch in range(4):
            train_epoch()
            if scheduler is not None:
                # decay
                scheduler.step()
        """,
    ),
    (
        "TDR110",
        """\
        for epoch in range(4):
            if scheduler is not None:
                scheduler.step()
                print(epoch)
            for (x,) in loader:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
        """,
        """\
        for epoch in range(4):
            if scheduler is not None:
                print(epoch)
            for (x,) in loader:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
            if scheduler is not None:
                scheduler.step()
        """,
    ),
    (
        "TDR102",
        """\
        for (x,) in loader:
            for part in x.chunk(4):
                model(part).square().mean().backward()
                optimizer.zero_grad()
            optimizer.step()
        """,
        """\
        for (x,) in loader:
            for part in x.chunk(4):
                model(part).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    ),
    (
        "TDR108",
        """\
        for number, (x,) in enumerate(loader):
            model(x).square().mean().div(2).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if (number + 1) % 2 == 0:
                optimizer.step()
                optimizer.zero_grad()
        """,
        """\
        for number, (x,) in enumerate(loader):
            model(x).square().mean().div(2).backward()
            if (number + 1) % 2 == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        """,
    ),
    (
        "TDR108",
        """\
        for (x,) in loader:
            optimizer.zero_grad()
            scaler.scale(model(x).square().mean()).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.update()
        """,
        """\
        for (x,) in loader:
            optimizer.zero_grad()
            scaler.scale(model(x).square().mean()).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        """,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "before", "after"), CASES)
def test_a_statement_goes_where_it_belongs(mended: Mended, code: str, before: str, after: str) -> None:
    assert mended(HEAD + dedent(before), code) == HEAD + dedent(after)


STAYING = [
    (
        "TDR110",
        """\
        for epoch in range(4):
            if epoch < 0:
                print(epoch)
            else:
                scheduler.step()
                print("decayed")
            train_epoch()
        """,
    ),
    (
        "TDR110",
        """\
        for epoch in range(4):
            if bool(scheduler.get_last_lr()):
                scheduler.step()
                print(epoch)
            train_epoch()
        """,
    ),
    (
        "TDR110",
        """\
        def fit():
            scheduler.step()
            return train_epoch()


        fit()
        """,
    ),
    (
        "TDR110",
        """\
        for epoch in range(4):
            scheduler.step()
            for (x,) in loader:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
                if x.isnan().any():
                    raise ValueError(epoch)
        """,
    ),
    (
        "TDR108",
        """\
        for number, (x,) in enumerate(loader):
            model(x).square().mean().div(2).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if (number + 1) % 2 == 0:
                optimizer.step()
                optimizer.zero_grad()
            else:
                print(number)
        """,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "before"), STAYING)
def test_a_statement_stays_where_its_new_place_could_mean_something_else(
    mended: Mended, code: str, before: str
) -> None:
    assert mended(HEAD + dedent(before), code) == HEAD + dedent(before)
