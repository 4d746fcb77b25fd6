"""Whether the time of a step is told by part, and slow data is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

SLOW = """
class Rows(TensorDataset):
    def __getitem__(self, row):
        sum(range(1_000_000))
        return super().__getitem__(row)

"""


def test_the_parts_of_a_step_are_told(climb: Climb) -> None:
    rung = climb(TRAINING, "throughput")
    assert rung.status == "passed", rung.reason
    parts = [values(rung, part)[0] for part in ("forward", "loss", "backward", "other")]
    assert all(isinstance(each, float) and each > 0 for each in parts)
    assert values(rung, "parameters") == [451 * 4]
    assert isinstance(values(rung, "with 0 workers")[0], float)
    assert isinstance(values(rung, "with 2 workers, estimated")[0], float)
    assert "divided by the memory saved for backward per sample" in str(values(rung, "estimation method")[0])
    assert any(fact.group == "slowest operations of a step" for fact in rung.evidence)


def test_memory_is_told_at_its_peak_by_part(climb: Climb) -> None:
    wide = broken("nn.Linear(10, 32)", "nn.Linear(10, 4096)", "nn.Linear(32, 3)", "nn.Linear(4096, 3)")
    rung = climb(wide, "throughput")
    peaks = {fact.label: fact.value for fact in rung.evidence if fact.group.startswith("peak memory of the step")}
    assert list(peaks) == ["forward", "loss", "backward", "optimizer"]
    row = 4096 * 4 * 16
    assert row * 2 <= int(peaks["forward"] or 0) < row * 4
    assert int(peaks["backward"] or 0) > row


ROWS = ["x = torch", SLOW + "x = torch", "DataLoader(TensorDataset(x[:192]", "DataLoader(Rows(x[:192]"]
LOOP = ["optimizer.step()", "optimizer.step()\n        sum(range(8_000_000))"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [(ROWS, "the step waits for data"), (LOOP, "is spent outside")],
    ids=["slow rows", "slow loop"],
)
def test_what_wastes_the_time_fails(climb: Climb, changes: list[str], said: str) -> None:
    rung = climb(broken(*changes), "throughput")
    assert rung.status == "failed", rung.reason
    assert said in rung.reason


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_what_workers_would_do_is_an_estimate_and_decides_nothing(climb: Climb, workers: int) -> None:
    rung = climb(broken(*ROWS, "batch_size=16, shuffle=True", f"batch_size=16, num_workers={workers}"), "throughput")
    assert rung.status == "passed", rung.reason
    assert f"({workers} workers, estimated)" in rung.reason


def test_made_up_data_says_nothing_of_the_time_that_the_script_waits(climb: Climb) -> None:
    script = broken("x = torch.randn(256, 10)", "x = torch.load('inputs.pt')").replace("x[", "x[:256, :10][")
    rung = climb(script, "throughput")
    assert "waits for" not in rung.reason
    assert "synthetic data" in rung.reason


WITHIN = """
class Scoring(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, images, labels):
        sum(range(300_000))
        return criterion(self.layers(images), labels)


class Slow(nn.CrossEntropyLoss):
    def forward(self, *given):
        sum(range(300_000))
        return super().forward(*given)


model, criterion = Scoring(), Slow()
optimizer"""


VARIES = ["optimizer.step()", "optimizer.step()\n        sum(range(int(400_000 * torch.rand(()))))"]
INSIDE = [
    *("criterion = nn.CrossEntropyLoss()\noptimizer", WITHIN),
    *("criterion(model(images), labels)", "model(images, labels)"),
]


@pytest.mark.parametrize("changes", [VARIES, INSIDE], ids=["steps that vary", "a loss in the model"])
def test_the_parts_of_a_step_add_up_to_it(climb: Climb, changes: list[str]) -> None:
    rung = climb(broken(*changes), "throughput")
    parts = [fact.value for fact in rung.evidence if fact.group == "parts of the step"]
    step = values(rung, "step")[0]
    assert isinstance(step, float)
    assert len(parts) == 5
    assert sum(float(each or 0.0) for each in parts) == pytest.approx(step)


CROPS = """
class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, row):
        for each in self.transforms:
            row = each(row)
        return row


class RandomCrop(nn.Module):
    def forward(self, row):
        sum(range(1_000_000))
        return row


class Rows(TensorDataset):
    transform = Compose(lambda row: row + 1, RandomCrop(), lambda row: row - 1)

    def __getitem__(self, row):
        return self.read(row)

    def read(self, row):
        inputs, target = super().__getitem__(row)
        return self.transform(inputs), target


x = torch"""


def test_the_transform_that_takes_most_of_the_time_is_named(climb: Climb) -> None:
    rung = climb(
        broken("x = torch", CROPS, "DataLoader(TensorDataset(x[:192]", "DataLoader(Rows(x[:192]"), "throughput"
    )
    assert rung.status == "failed", rung.reason
    assert "`RandomCrop` takes" in rung.reason
    assert "look at `RandomCrop`" in rung.next
    shares = {fact.label: fact.value for fact in rung.evidence if fact.group == "share of the time of loading a batch"}
    assert float(shares["`RandomCrop`"] or 0.0) > 90
    assert values(rung, "steps per epoch") == [12]
    step, batch = values(rung, "step")[0], values(rung, "with 0 workers")[0]
    assert values(rung, "time for an epoch, without validation") == [pytest.approx(12 * (step + batch))]  # type: ignore[operator] # seconds
    assert rung.plots[0].names == ["data", "forward", "loss", "backward", "optimizer", "other"]


def test_more_workers_than_cores_are_told(climb: Climb) -> None:
    rung = climb(broken("batch_size=16, shuffle=True", "batch_size=16, num_workers=999"), "throughput")
    assert "999 workers are requested, but" in rung.reason
    assert values(rung, "Python objects copied to 999 workers, at most") == [pytest.approx(0, abs=999 * 10_000)]
    assert values(rung, "tensors and arrays") == [192 * 10 * 4 + 192 * 8]


def test_the_largest_tensors_have_a_name_and_a_line(climb: Climb) -> None:
    wide = broken("nn.Linear(10, 32)", "nn.Linear(10, 4096)", "nn.Linear(32, 3)", "nn.Linear(4096, 3)")
    rung = climb(wide, "throughput")
    largest = {fact.label: fact.value for fact in rung.evidence if fact.group == "largest tensors of a step"}
    assert largest["saved by `1` at train.py:18 (16 × 4096)"] == 16 * 4096 * 4
    assert largest["`0.weight` (4096 × 10)"] == largest["exp_avg of `0.weight` (4096 × 10)"] == 4096 * 10 * 4
    assert not values(rung, "to use less memory, in this order")  # on a CPU, and next to nothing


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ('noise = torch.randn(1000, 1000)\nnoise = noise.to("cuda")', True),
        ("noise = torch.zeros(1000, 1000).cuda()", True),
        ('noise = torch.randn(1000, 1000, generator=torch.Generator().manual_seed(1)).to("cuda")', False),
        ("noise = torch.randn(1000, 1000).to(torch.float64)", False),
    ],
    ids=["two statements", "one statement", "a generator of the CPU", "another dtype"],
)
def test_what_is_created_on_the_cpu_and_moved_is_told(climb: Climb, noise: str, said: bool) -> None:
    rung = climb(broken("model = ", f"{noise}\nmodel = "), "throughput")
    assert rung.status == "passed", rung.reason
    assert ("creates 4 MB on the CPU" in rung.reason) == said


FROZEN = "model[0].weight.requires_grad_(False)\nmodel[2].requires_grad_(False)\nmodel.add_module('spare', nn.Linear(1, 1))\n"


def test_the_layers_are_told(climb: Climb) -> None:
    calls = ["model(images)", "model[:3](images)"]
    changes = [
        "nn.Linear(32, 3))",
        "nn.Linear(32, 3))\n" + FROZEN + "model[1].eval()",
        "model.train()",
        "model[1].eval()",
    ]
    rung = climb(broken(*changes, *calls), "throughput")
    layers = {fact.label: fact.value for fact in rung.evidence if fact.group.startswith("layers of the model")}
    assert layers == {
        "`0` (Linear)": "weight 32 × 10, bias 32, output 16 × 32, 352 parameters, weight frozen, training mode",
        "`1` (ReLU)": "output 16 × 32, evaluation mode",
        "`2` (Linear)": "weight 3 × 32, bias 3, output 16 × 3, 99 parameters, frozen, training mode",
        "parameters in all": 451,
        "trainable in all": 32,
    }
