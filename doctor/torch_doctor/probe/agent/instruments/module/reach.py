"""Which layers of the project's modules run at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ...watching.definitions import class_site
from ...watching.naming import class_name, is_project
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 400  # layers that are told of
PUBLISHED = re.compile(r"load_url|load_state_dict_from_url|model_zoo|from_pretrained|torch\.hub|hf_hub|pretrained")
NAMELESS = re.compile(r"getattr|\.(named_)?children\(|\._modules|__dict__|vars\(")


class Instrument(Base):
    """Counts the calls of every module, and notes which parameters get gradients."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._calls: IdentityMap[int] = IdentityMap()
        self._got: set[int] = set()
        watch.patches.hook(watch.torch.nn.modules.module.register_module_forward_pre_hook, self._runs)

    def _runs(self, module: Any, _: Any) -> None:
        if not self.watch.recorder.quiet:
            self._calls[module] = self._calls.get(module, 0) + 1

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """What gets a gradient was used, as a layer or as a bare tensor."""
        self._got.update(map(id, got))

    def at_end(self, error: BaseException | None) -> None:
        """Writes what became of the layers of each module that ran."""
        recorder, modules = self.watch.recorder, self.watch.modules
        here = recorder.here()
        for number, (owner, name, layer) in enumerate(self._layers()):
            if number >= MOST:
                break
            parameters = list(layer.parameters())
            reached = any(part in self._calls for part in layer.modules())
            reached = reached or any(id(each) in self._got for each in parameters)
            site = modules.birthplace(layer)
            if site is None or not modules.built_by(layer, owner):
                continue
            recorder.event(
                "LayerRegistered",
                here,
                site=site,
                owner=recorder.references.number(owner),
                owner_class=class_name(type(owner), recorder),
                name=name,
                class_name=class_name(type(layer), recorder),
                trainable=any(each.requires_grad for each in parameters),
                reached=reached,
                bare=not parameters,
                named=self._is_named(type(owner), name),
                forwards=self._calls[owner],
                elements=sum(each.numel() for each in parameters),
            )

    def _layers(self) -> Iterator[tuple[Any, str, Any]]:
        """The layers of each module of the project that ran with a `forward` of the project's; no losses or empty lists."""
        nn = self.watch.torch.nn
        losses, lists = nn.modules.loss._Loss, (nn.Sequential, nn.ModuleList, nn.ModuleDict)
        for owner in list(self._calls):
            if is_project(type(owner), self.watch.recorder):
                for name, layer in owner._modules.items():
                    empty = layer is None or (isinstance(layer, lists) and not len(layer))
                    if not empty and not isinstance(layer, losses):
                        yield owner, name, layer

    def _is_named(self, cls: type, name: str) -> bool:
        """Whether a class's own text takes the attribute, may reach it without naming it, or loads published weights."""
        recorder = self.watch.recorder
        for each in cls.__mro__:
            place = class_site(each, recorder) if is_project(each, recorder) else None
            span = recorder.span(place) if place is not None else None
            file = recorder.index.file(span.path) if span is not None else None
            if file is None or span is None:
                continue
            if PUBLISHED.search(file.text):
                return True
            text = "\n".join(file.lines[span.row - 1 : span.end_row])
            if NAMELESS.search(text) or re.search(rf"\bself\.{re.escape(name)}\b(?!\s*=[^=])", text):
                return True
        return False
