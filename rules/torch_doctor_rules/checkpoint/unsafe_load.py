"""TDR603: a checkpoint is unpickled without `weights_only=True`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor.trace import ANY, Loaded, Saved
from torch_doctor_rules.judging.checkpoint_files import goes_on, is_own, may_be_written, read
from torch_doctor_rules.judging.testing import is_test_file
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace, Version, Versions

LIMITED: Version = (1, 13)
"""Since this version `torch.load` takes `weights_only`."""
SAFE_BY_DEFAULT: Version = (2, 6)
"""Since this version it is true unless something else is asked for."""


class UnsafeLoad(Rule):
    """`torch.load` unpickles a file of unknown origin, which can run arbitrary code.

    ## Why is this bad?
    A checkpoint is a pickle, and a pickle can call any function while it is loaded. If the path comes from the command
    line, a download or a shared directory, whoever created the file can run code on your machine. With
    `weights_only=True`, `torch.load` reads only tensors, primitive types and plain containers. This is the default since
    torch 2.6.

    ## Example
    ```python
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", default="")
    path = parser.parse_known_args()[0].weights

    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=False))
    ```

    ## Use instead
    ```diff
     if os.path.exists(path):
    -    model.load_state_dict(torch.load(path, weights_only=False))
    +    model.load_state_dict(torch.load(path, weights_only=True))
    ```

    ## Fix safety
    After the fix, `torch.load` rejects files that contain anything but tensors, strings, Python numbers and containers of
    these. The fix is not offered if the script saves NumPy numbers or other objects, or if the project allows torch older
    than 1.13, which does not have the argument.

    ## How the probe confirms it
    It does not: a run does not show what someone else could put into the file.

    ## When it is not reported
    - If `weights_only` is missing and the project does not specify its torch version (in `pyproject.toml`, a requirements,
      environment or lock file, or as `torch-version` in the configuration), or allows only versions with the safe default
      (2.6 or later) or without the argument (before 1.13).
    - If the value of `weights_only` is a variable.
    - For paths that the script constructs itself, unless they lead outside its directory or the script downloads the file.
    - For files that the script saves, or may save under a name that is unknown, and for files that another script of the
      project saves under a matching name.
    - For the project's own checkpoints that are passed back to the script: an optimizer whose state is saved is restored from
      the file, or all keys that are read are keys that the project saves.
    - For copies through a buffer in memory.
    - If code that is not analyzed gets a model and may have saved it, unless the user specifies the complete path.
    - As a fallback after a load with `weights_only=True` failed.
    - In tests.
    - For all calls in a project except the first with the same path or command-line option.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only
    """

    code = "TDR603"
    name = "unsafe-load"
    level = Level.WARNING
    witness = "S"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every load of a file of unknown origin without `weights_only=True`."""
        tried = [
            load for load in trace.of(Loaded) if not (load.module or load.by_default or load.weights_only is False)
        ]
        for loaded in read(trace):
            if loaded.weights_only is False:
                text = "`weights_only=False` lets `{name}` run arbitrary code"
            elif loaded.by_default and _unlimited(trace.torch()):
                text = "loading `{name}` without `weights_only=True` can run arbitrary code before torch 2.6"
            else:
                continue
            if not loaded.outside or is_test_file(loaded.site) or _after_safe_one(loaded, tried):
                continue
            if not (may_be_written(trace, loaded) or is_own(trace, loaded) or goes_on(trace, loaded)):
                about = message(text, name=loaded.name)
                here = f"{loaded.file} of {loaded.scope.chain()[0].site}" if loaded.file else ""
                saved = _refused(trace)
                known = loaded.weights_only is False or trace.torch().oldest >= LIMITED
                yield self.finding(
                    loaded.site,
                    about,
                    help=self._help(loaded, saved, known=known),
                    cause=loaded.path or here,
                    wide=bool(loaded.path),
                    edits=[Keyword(loaded.site, "weights_only", "True")]
                    if known and loaded.state and not (loaded.whole or saved)
                    else [],
                )

    def _help(self, loaded: Loaded, saved: Saved | None, *, known: bool) -> str:
        if loaded.whole:
            return "save the object's `state_dict()` instead, and load it with `weights_only=True`"
        if saved is not None:
            here = "" if saved.site.path == loaded.site.path else f" of {saved.site.path}"
            return f"save only tensors, strings and Python numbers in line {saved.site.row}{here}, then set `weights_only=True`"
        if not known:
            return f"require torch {'.'.join(map(str, LIMITED))} or later, then add `weights_only=True`"
        return "set `weights_only=True`" if loaded.weights_only is False else "add `weights_only=True`"


def _refused(trace: Trace) -> Saved | None:
    """Return a save of the script that contains objects which `weights_only=True` rejects."""
    return next((saved for saved in trace.of(Saved) if saved.objects or saved.numbers or saved.modules), None)


def _after_safe_one(loaded: Loaded, tried: list[Loaded]) -> bool:
    """Return whether this load is a fallback after one with `weights_only=True` failed."""
    return any(
        safe.file == loaded.file
        and safe.name == loaded.name
        and safe.index < loaded.index
        and safe.guards < loaded.guards
        and safe.scope is loaded.scope
        for safe in tried
    )


def _unlimited(allowed: Versions) -> bool:
    """Return whether the project allows a torch that has `weights_only`, but not as its default."""
    return allowed != ANY and allowed.oldest < SAFE_BY_DEFAULT and allowed.newest >= LIMITED
