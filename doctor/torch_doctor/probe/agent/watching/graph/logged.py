"""Values that go to a log, a progress bar or a meter that wants numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import claims, hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ...nodes import Node
    from ..watch import Watch

MOST = 8  # events that one place writes


class Watcher:
    """Is given what the user's code calls to log something, before it is called."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._tensor = watch.torch.Tensor
        self._recorder = watch.recorder
        self._sinks = watch.recorder.index.sinks
        self._written: dict[int, int] = {}
        self._plain: dict[int, int] = {}

    def install(self) -> None:
        """Puts what instrumented code calls in place."""
        hooks.put("logs", self._logs)
        self._recorder.at_end.append(self._count)

    def _logs(self, key: int, function: Any) -> Any:
        """What is called there, watched where it is such a sink."""
        node = self._recorder.index.nodes[key]
        library = self._recorder.safely(_library, function, node.name, self._sinks)
        if not library:
            return function
        look, recorder = self._look, self._recorder

        def logging(*arguments: Any, **keywords: Any) -> Any:
            if not recorder.quiet:
                recorder.safely(look, node, library, arguments, keywords)
            return function(*arguments, **keywords)

        return logging

    def _look(self, node: Node, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        places = dict(zip(node.argument_names, node.arguments, strict=True))
        for name, value in (*enumerate(arguments), *keywords.items()):
            whole = places.get(str(name), places.get("**", node.key))
            for inner, item in _items(value):
                self._note(places.get(f"{name}.{inner}", whole), node, library, item)

    def _note(self, key: int, node: Node, library: str, value: Any) -> None:
        if not isinstance(value, self._tensor) or value.grad_fn is None:
            if isinstance(value, (self._tensor, int, float)):
                self._plain[key] = self._plain.get(key, 0) + 1
            return
        recorder = self._recorder
        here = recorder.here()
        if here.frame is None or self._written.get(key, 0) >= MOST or recorder.rests():
            return
        self._written[key] = self._written.get(key, 0) + 1
        use = self._sinks[library][node.name]
        recorder.event(
            "Logged",
            here,
            site=recorder.index.site(key),
            value=self._watch.facts.of(value, recorder.index.nodes[key].text),
            sink=f"{library}.{node.name}",
            name=node.text,
            keeps=use == "keeps",
            needs_number=use == "number",
        )

    def _count(self, _: BaseException | None) -> None:
        for key, times in self._plain.items():
            if key not in self._written:
                site = self._recorder.index.site(key)
                self._recorder.measured(claims.LOGGED_WITHOUT_GRAPH, times, "times", site=site)


def _library(function: Callable[..., Any], name: str, sinks: Mapping[str, Mapping[str, str]]) -> str:
    """The library whose sink this is; empty for everything else."""
    silent = getattr(function, "_name", "")
    owners = [cls.__module__ for cls in type(getattr(function, "__self__", None)).__mro__]
    bars = [cls.__name__ for cls in type(getattr(function, "__self__", None)).__mro__ if cls.__name__ == "tqdm"]
    modules = [silent if isinstance(silent, str) else "", getattr(function, "__module__", None) or "", *owners, *bars]
    roots = {each.partition(".")[0] for each in modules}
    return next((root for root in sinks if root in roots and name in sinks[root]), "")


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    """What is in a dict, a list or a tuple, and in the pairs of one; else the value itself."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            for inner, each in _items(item):
                yield place if inner == "" else f"{place}.{inner}", each
    else:
        yield "", value
