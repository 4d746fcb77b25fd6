"""The bugs that are put into right scripts.

`FREQUENT` are the thirty codes that occur most in published training code: counted are the findings that somebody judged
to be true, in `tests/ecosystem/ledger.tsv` and among the labelled lines of real repositories. Left out are three that need
another script: TDR000 (nothing of the file can be read), TDR109 (mixed precision) and TDR710 (several processes).
`STOPPING` are six more that few people publish, because nothing is trained with them, and that beginners ask about: they
are what hides other bugs.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.pairs.editing import Edit, Script, add, drop, move, swap, unwrap


class Bug(NamedTuple):
    """A bug: its code, the line at which it is reported, and the edits that make it."""

    code: str
    at: str
    edits: tuple[Edit, ...]

    def into(self, script: Script) -> Script:
        """The script with the bug in it.

        Raises:
            CannotBeEditedError: a line that it changes is not as it was.
        """
        for edit in self.edits:
            script = edit(script)
        return script


def _bug(code: str, at: str, *edits: Edit) -> Bug:
    return Bug(code, at, edits)


FREQUENT = (
    _bug("TDR402", "scored", unwrap("no-grad")),
    _bug("TDR807", "scheduler", swap("scheduler", r"step_size=5", "step_size=5, verbose=True")),
    _bug("TDR501", "running", swap("running", r"\.item\(\)", "")),
    _bug("TDR603", "load", swap("load", r"weights_only=True", "weights_only=False")),
    _bug("TDR601", "save", swap("save", r"\.state_dict\(\)", "")),
    _bug("TDR310", "spare", add("self.spare = nn.Linear(width, width)", name="spare", before="head")),
    _bug("TDR701", "train-loader", swap("train-loader", r", shuffle=True", "")),
    _bug("TDR110", "schedule", move("schedule", before="epoch")),
    _bug("TDR502", "history", swap("history", r"\.item\(\)", "")),
    _bug(
        "TDR305",
        "forward",
        add("self.register_forward_hook(lambda *_: None)", name="hook", before="head"),
        swap("forward", r"model\(", "model.forward("),
    ),
    _bug("TDR201", "output", swap("output", r"return (.+)", r"return F.softmax(\1, dim=1)")),
    _bug("TDR401", "scored", drop("eval-mode")),
    _bug(
        "TDR210",
        "entropy",
        swap("entropy", r"F\.log_softmax\(outputs, dim=1\)", "torch.log(F.softmax(outputs, dim=1))"),
    ),
    _bug("TDR301", "blocks", swap("blocks", r"nn\.ModuleList\((.+)\)$", r"\1")),
    _bug("TDR202", "output", swap("output", r"return (.+)", r"return F.log_softmax(\1, dim=1)")),
    _bug("TDR802", "forward", drop("moved")),
    _bug("TDR403", "eval-mode", drop("train-mode")),
    _bug("TDR306", "functional-dropout", swap("functional-dropout", r", training=self\.training", "")),
    _bug("TDR303", "scale", swap("scale", r'register_buffer\("scale", (.+)\)', r"scale = \1")),
    _bug("TDR108", "clip", move("clip", after="step")),
    _bug("TDR505", "logged", swap("logged", r"\.item\(\)", "")),
    _bug("TDR801", "offset", swap("offset", r", device=x\.device", "")),
    _bug("TDR101", "backward", drop("zero-grad")),
    _bug("TDR304", "fresh", add("x = nn.Linear(64, 64).to(x.device)(x)", name="fresh", after="pooled")),
    _bug("TDR602", "best", swap("best", r"copy\.deepcopy\((.+)\)", r"\1")),
    _bug("TDR712", "test-loader", swap("test-loader", r"\)$", ", drop_last=True)")),
    _bug("TDR203", "loss", swap("criterion", "CrossEntropyLoss", "NLLLoss")),
    _bug("TDR311", "blocks", swap("blocks", r" for _ in range\(3\)\]", "] * 3")),
    _bug("TDR706", "test-set", swap("test-set", "transform=plain", "transform=augmented")),
    _bug("TDR503", "backward", swap("backward", r"backward\(\)", "backward(retain_graph=True)")),
)
STOPPING = (
    _bug("TDR302", "init", drop("super")),
    _bug("TDR206", "loss", swap("criterion", "CrossEntropyLoss", "MSELoss")),
    _bug("TDR111", "step", swap("step", r"step\(\)", "step")),
    _bug("TDR114", "optimizer", swap("optimizer", r"[\w.]*model\.parameters", "PictureNet().parameters")),
    _bug(
        "TDR115",
        "rebuilt",
        add("loss = torch.tensor(loss.item(), requires_grad=True)", name="rebuilt", after="loss"),
    ),
    _bug("TDR105", "step", drop("backward")),
)
BUGS = {bug.code: bug for bug in (*FREQUENT, *STOPPING)}
