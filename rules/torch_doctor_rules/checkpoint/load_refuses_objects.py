"""TDR609: a file with pickled objects that is loaded with `weights_only=True`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Loaded, Saved
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.testing import is_test_file
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace, Version

LIMITED_BY_DEFAULT: Version = (2, 6)
"""Since this version `torch.load` reads tensors, numbers, texts and plain containers, unless more is asked for."""


class LoadRefusesObjects(Rule):
    """`torch.load` reads a file that contains pickled objects, which it rejects since torch 2.6.

    ## Why is this bad?
    Since torch 2.6, `torch.load` reads only tensors, numbers, strings and plain containers of these, because anything else
    can run code. A checkpoint with a model, an optimizer, a NumPy array or an `argparse` namespace in it is saved without a
    warning and fails to load: "Weights only load failed". You notice when you resume training, hours later.

    ## Example
    ```python
    import numpy as np

    path = os.path.join(tempfile.mkdtemp(), "last.pt")
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "curve": np.zeros(3)}, path)
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    ```

    ## Use instead
    ```diff
     optimizer.step()
    -torch.save({"model": model.state_dict(), "curve": np.zeros(3)}, path)
    +torch.save({"model": model.state_dict(), "curve": np.zeros(3).tolist()}, path)
     checkpoint = torch.load(path)
    ```

    ## Fix safety
    The fix sets `weights_only=False`. The file can then run code, so use it only for files that you created yourself. If you
    save state dicts and plain numbers, as above, you do not need it.

    ## How the probe confirms it
    torch rejects the file or, before torch 2.6, the loaded data contains such an object. If the file is loaded and contains
    none, the finding is refuted.

    ## When it is not reported
    - For files that the script does not save itself.
    - For values that are not known to be objects.
    - With `weights_only=False`, or without the argument in a branch on the torch version.
    - If the project pins torch below 2.6, in `pyproject.toml`, a requirements, environment or lock file, or as `torch-version`
      in the configuration.
    - If the project calls `add_safe_globals` or sets `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD`.
    - In tests.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only
    """

    code = "TDR609"
    name = "load-refuses-objects"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every load with `weights_only=True` of a file that contains objects."""
        yield from first_per_site(self._refused(trace) if trace.observed else self._found(trace))

    def _refused(self, trace: Trace) -> Iterator[Finding]:
        for loaded in trace.of(Loaded):
            if loaded.refused:
                yield self.finding(
                    loaded.site, "this file contains pickled objects", help="save state dicts and numbers"
                )

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for loaded in trace.of(Loaded):
            if loaded.module or loaded.allowed or is_test_file(loaded.site):
                continue
            saves = [saved for saved in trace.of(Saved) if _same_file(saved, loaded)]
            if not saves or not all(saved.objects for saved in saves) or not _limited(trace, loaded):
                continue
            key, what = saves[0].objects[0]
            text = "`{name}` contains {what} in `{key}`" if key else "`{name}` contains {what}"
            since = "" if loaded.weights_only is True else " since 2.6"
            yield self.finding(
                loaded.site,
                message(text + ": `torch.load` rejects it" + since, name=loaded.name, what=what, key=key),
                help="save state dicts, numbers and lists, or set `weights_only=False` if you trust the file",
                trail=[Step(saves[0].site, "the file is saved with the object here")],
                cause=place(saves[0].site),
                edits=[Keyword(loaded.site, "weights_only", "False")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the file was loaded and contained no object."""
        reads = [loaded for loaded in at(trace, finding.site, Loaded) if not loaded.module]
        if any(loaded.refused is None for loaded in reads):
            return "loading the file failed for another reason"
        return bool(reads)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield torch's error, or that the file contains no object."""
        reads = [loaded for loaded in at(trace, finding.site, Loaded) if loaded.refused is not None]
        refused = [loaded for loaded in reads if loaded.refused]
        for loaded in [*refused, *reads][:1]:
            text = (
                f"`torch.load` rejects the file: {_short(loaded.refused or '')}"
                if refused
                else "the file was loaded and contains no such object"
            )
            yield fact(text, len(refused), "objects", loaded)


def _limited(trace: Trace, loaded: Loaded) -> bool:
    """Return whether a load uses `weights_only=True` explicitly, or by default in a torch that the project allows."""
    by_default = loaded.by_default and trace.torch().newest >= LIMITED_BY_DEFAULT
    return loaded.weights_only is True or (by_default and not trace.by_version(loaded))


def _same_file(saved: Saved, loaded: Loaded) -> bool:
    """Return whether both certainly use the same file or the same buffer in memory."""
    if saved.buffer or loaded.buffer:
        return saved.buffer == loaded.buffer
    return bool(saved.file) and saved.file == loaded.file


def _short(said: str) -> str:
    """Return the line of torch's message that names the class, or its first line."""
    rows = [row.strip() for row in said.splitlines()]
    return next((row for row in rows if "not an allowed global" in row or "GLOBAL" in row), rows[0] if rows else "")[
        :120
    ]
