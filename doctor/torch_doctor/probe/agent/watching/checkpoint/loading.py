"""`load_state_dict` that gets a string, whose keys fit nothing, or whose result is taken for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch

REPORT = "_IncompatibleKeys"
"""torch's name for the class of what a module's load returns."""
MOST_KEPT = 64  # results of loads that are remembered


class Watcher:
    """Wraps the loads of modules and optimizers, and looks whether the script failed on what one returned."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._busy = False
        self._returned: list[tuple[Any, Any, int, str]] = []
        """What loads of modules returned, with where the user's code was, the call's site and whose method it was."""

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._watch.torch
        self._watch.patches.replace(torch.nn.Module, "load_state_dict", self._wrap)
        self._watch.patches.replace(torch.optim.Optimizer, "load_state_dict", self._wrap)
        self._recorder.at_end.append(self._at_end)

    def _wrap(self, original: Any) -> Any:
        recorder = self._recorder

        def load_state_dict(thing: Any, *arguments: Any, **keywords: Any) -> Any:
            if self._busy or recorder.quiet:
                return original(thing, *arguments, **keywords)
            state = arguments[0] if arguments else keywords.get("state_dict")
            if isinstance(state, str):
                recorder.safely(self._given_string, state)
            self._busy = True
            try:
                result = original(thing, *arguments, **keywords)
            finally:
                self._busy = False
            recorder.safely(self._loaded, thing, state, result)
            return result

        return load_state_dict

    def _given_string(self, state: str) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            name = self._recorder.owner(here.site, "load_state_dict")
            path = self._recorder.argument(here.site, 0, "state_dict", "load_state_dict") or repr(state)
            self._recorder.event("LoadMisused", here, name=name, path=path)

    def _loaded(self, thing: Any, state: Any, result: Any) -> None:
        recorder = self._recorder
        here = recorder.here()
        call = recorder.call(here.site, "load_state_dict")
        if here.frame is None or getattr(getattr(call, "func", None), "attr", "") != "load_state_dict":
            return  # of a library, which does with the result what it wants
        name = recorder.owner(here.site, "load_state_dict")
        overwrites = recorder.assigned(here.site, "load_state_dict") == name
        if overwrites and not isinstance(result, type(thing)):
            recorder.event("LoadMisused", here, name=name, result=type(result).__name__, overwritten=True)
            return
        if type(result).__name__ != REPORT:
            return
        if len(self._returned) < MOST_KEPT:
            self._returned.append((result, here, here.site, name))
        keys = [key for key in state if isinstance(key, str)] if isinstance(state, dict) else []
        if keys and set(keys) <= set(result.unexpected_keys) and result.missing_keys:
            recorder.event("LoadMisused", here, name=name, keys=len(keys), example=keys[0])

    def _at_end(self, error: BaseException | None) -> None:
        failed = getattr(error, "obj", None) if isinstance(error, AttributeError) else None
        called = isinstance(error, TypeError) and f"'{REPORT}' object is not callable" in str(error)
        for result, here, site, name in reversed(self._returned):
            if result is failed or (called and result in _values(error)):
                self._recorder.event("LoadMisused", here, site=site, name=name, result=REPORT)
                return


def _values(error: BaseException | None) -> list[Any]:
    """What the variables of the failed frame hold."""
    trace = error.__traceback__ if error is not None else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return [] if trace is None else [each for each in trace.tb_frame.f_locals.values() if type(each).__name__ == REPORT]
