"""Checkups that nobody ran: every rung in every status, with figures of every kind, and text that means harm."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest

from torch_doctor.checkup.outcome import RUNGS, Checkup, Fact, Image, Mark, Plot, Rung, Sample, Series, Status
from torch_doctor.checkup.telling.page import page
from torch_doctor.rule import Finding, Level, Verdict
from torch_doctor.trace import Site

STATUSES: tuple[Status, ...] = ("passed", "failed", "skipped", "shown")
HOSTILE = """<script>document.title = 'owned'</script> & "quoted" $x_1$ | [a](b) `code` *not strong*"""


def png(side: int = 8) -> str:
    """A grey picture in base64."""
    rows = b"".join(b"\x00" + bytes((row * column * 4) % 256 for column in range(side)) for row in range(side))
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


def plots() -> list[Plot]:
    """A figure of each kind."""
    steps = [float(each) for each in range(1, 41)]
    falls: list[float | None] = [2.0 / each for each in steps]
    return [
        Plot(
            "Loss", "lines", "the loss falls from 2 to 0.05", x_label="step", y_label="loss", y_log=True,
            series=[Series("training", steps, [*falls[:5], None, *falls[6:]]), Series("validation", steps, [2.1] * 40)],
            marks=[Mark("the script's own rate", 10.0)],
        ),
        Plot(
            "Range test", "lines", "the loss falls at 1e-3", x_label="learning rate", y_label="loss", x_log=True,
            series=[Series("loss", [10.0 ** (each / 8 - 6) for each in range(40)], falls)],
        ),
        Plot("Labels", "bars", "three classes", names=["cat", "dog", HOSTILE[:20]], series=[Series("rows", [0, 1, 2], [5, 3, 1])]),
        Plot("Confusion", "matrix", "cats are taken for dogs", names=["cat", "dog"], rows=[[5.0, 2.0], [0.0, 7.0]]),
        Plot("Inputs", "images", "two pictures", images=[Image(png(), HOSTILE), Image(png(), "dog"), Image("no picture")]),
        Plot("Tokens", "texts", "two rows", texts=["12 7 0 0 " * 20, HOSTILE], beside="batch"),
        Plot("Other tokens", "texts", "one row", texts=["4 5 6"], beside="batch"),
        Plot(
            "Values", "histograms", "five columns of both sets",
            series=[
                Series(label, [0.5, 1.5, 2.5], [0.25, 0.5, 0.25], axis=column)
                for column in ("age", "height", "mass", HOSTILE, "pulse") for label in ("training", HOSTILE)
            ],
        ),
        Plot(
            "Training", "lines", "the loss falls while the gradients grow", x_label="step", y_label="loss",
            series=[
                Series("training", steps, falls), Series("accuracy", steps, [0.5] * 40, axis="accuracy"),
                Series("norm", steps, [10.0 ** (each / 8) for each in steps], axis="gradient norm", log=True),
            ],
        ),
        Plot(
            "Operations", "bars", "most time goes to the matrix product", y_label="ms",
            names=[f"aten::an_operation_with_a_long_name_{each}" for each in range(12)] + [HOSTILE],
            series=[Series("ms", list(range(13)), [float(each) for each in range(13)])],
        ),
        Plot("Worst mistakes", "samples", "dogs are taken for cats", samples=[
            Sample("val_loader.dataset[3]", "dog", "cat", 0.91, 2.4, png=png()),
            Sample("val_loader.dataset[5]", "dog", "cat", 0.95, 3.1, png=png()),
            Sample(HOSTILE, "cat", HOSTILE, 0.6, 0.9, png=png()),
        ]),
        Plot("Worst rows", "samples", "two rows", samples=[
            Sample("row 1", "1.5", "2.5", None, 1.0, "0.25, -1, " * 20), Sample("row 2", text=HOSTILE),
        ]),
    ]  # fmt: skip


def finding(code: str = "TDR101", row: int = 7, verdict: Verdict | None = Verdict.CONFIRMED) -> Finding:
    return Finding(
        code, "missing-zero-grad", Level.ERROR, "the gradients of `loss` are added to those of earlier steps",
        Site("train.py", row, 5, row, 20), help="call `optimizer.zero_grad()`", verdict=verdict,
    )  # fmt: skip


def rung(name: str, status: Status) -> Rung:
    """A rung as it may be; one that failed has a figure of each kind, another one of its own."""
    place = RUNGS.index(name)
    figures = (
        plots()
        if status == "failed" and place < 2
        else plots()[place % len(plots()) :][:1]
        if status != "skipped"
        else []
    )
    facts = [
        Fact("loss", 2.302585, expected="about ln 10"),
        Fact("rows", 123456, group="train_loader"),
        Fact("shuffled", value=True, group="train_loader"),
        Fact(HOSTILE, None, "ms", group=HOSTILE),
    ]
    return Rung(
        name,
        status,
        f"it was {status}: {HOSTILE}",
        [] if status == "skipped" else facts,
        [finding()] if status == "failed" else [],
        figures,
        "look at `train.py`" if status == "failed" else "",
        "assert x.shape == (1, 2)  # ``` <b>" if name == "inspect" else "",
        1.25,
    )


def checkup(*rungs: Rung) -> Checkup:
    refuted = finding("TDR201", 9, Verdict.REFUTED)
    findings = [finding(), finding("TDR401", 12), refuted]
    return Checkup(HOSTILE, ["--lr", "<1>"], "cpu", list(rungs), findings, [f"a stand-in: {HOSTILE}"], 12.5)


@pytest.fixture(scope="session")
def every_rung() -> Checkup:
    """Every rung in every status."""
    return checkup(*(rung(name, status) for status in STATUSES for name in RUNGS))


@pytest.fixture(scope="session")
def every_rungs_page(every_rung: Checkup) -> str:
    """Its page."""
    return page(every_rung)


@pytest.fixture(scope="session")
def ordinarys_page(ordinary: Checkup) -> str:
    """The page of an ordinary checkup."""
    return page(ordinary)


@pytest.fixture(scope="session")
def ordinary() -> Checkup:
    """A checkup as scripts get them: each rung once."""
    return checkup(*(rung(name, STATUSES[number % len(STATUSES)]) for number, name in enumerate(RUNGS)))
