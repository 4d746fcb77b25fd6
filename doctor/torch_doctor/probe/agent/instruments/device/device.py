"""Knows for every tensor whether it would be on the GPU, and proves where one meets another that is not."""

from __future__ import annotations

import re
from multiprocessing import get_start_method
from typing import TYPE_CHECKING, Any

from ...stand_ins.cuda.places import Place, places
from ..instrument import Instrument as Base
from ..parts import tensors
from .meeting import Meeting
from .operations import MOST, Operations
from .whereabouts import Whereabouts

if TYPE_CHECKING:
    from ...recorder import Recorder
    from ...scopes import Here
    from ...watching.watch import Watch

NAME = re.compile(r"""\w+(?:\.\w+|\[(?:\w+|"[^"\[]*"|'[^'\[]*')\])*""")  # `x`, `self.x`, `batch["x"]`


class Instrument(Base):
    """Tells which calls get tensors of one device, which of two, and which moves are lost."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._recorder: Recorder = watch.recorder
        self._where = Whereabouts(watch)
        self._agreed: dict[int, list[int]] = {}
        self._rows: dict[tuple[int, bool, str, int, int], int] = {}
        places.on_put = self._put
        parallel = watch.torch.nn.parallel
        self._shells = (parallel.DataParallel, parallel.DistributedDataParallel)
        self._active = bool(self._where.real or watch.recorder.plan.get("pretend"))
        if self._active:
            places.begin()
            Operations(watch, self._where, Meeting(watch, self._where)).follow()

    # --- what is told ---

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module is given tensors."""
        self._where.root = module
        self._where.given = [self._where.of(tensor) for tensor in tensors((arguments, keywords))]
        self._where.forward = here.site
        weight = next(iter(module.parameters()), None)
        if weight is not None and not isinstance(module, self._shells):
            self._agree(here.site, [self._where.of(weight), *self._where.given])

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss is given tensors."""
        self._agree(here.site, [self._where.of(tensor) for tensor in tensors((arguments, keywords)) if tensor.dim()])

    def _agree(self, site: int, places: list[Place | None]) -> None:
        """Counts a call all of whose tensors are on the GPU; one that is elsewhere makes it count no more."""
        if not self._active or not places:
            return
        if all(place is not None and place.gpu for place in places):
            self._agreed.setdefault(site, [0, 0])
            self._agreed[site][0] += 1
            self._agreed[site][1] = len(places)
        else:
            self._agreed[site] = [-MOST, 0]

    def _put(self) -> int:
        """Counts a move to the GPU that a data set makes while a loader gets its rows; where any move is made."""
        fetching, frame = self.watch.fetching, self._recorder.frame()
        site = -1 if frame is None else self._recorder.sites.of_frame(frame)
        if fetching is not None and site >= 0:
            self._count(site, fetching, held=False)
        return site

    def _count(self, site: int, fetching: tuple[str, int, int], *, held: bool) -> None:
        key = (site, held, *fetching)
        self._rows[key] = self._rows.get(key, 0) + 1

    def at_end(self, error: BaseException | None) -> None:
        """Tells of the calls whose tensors are all on the GPU, and of the rows that are moved there."""
        moved = {site for site, held, *_ in self._rows if not held}
        for (site, held, name, workers, loader), times in self._rows.items():
            here, fields = self._recorder.here(), {"class_name": name, "workers": workers, "loader_site": loader}
            if not held or site not in moved:
                self._recorder.event("RowMoved", here, site=site, times=times, held=held, **fields)
        for site, (times, count) in self._agreed.items():
            if times > 0:
                self._recorder.event("DevicesAgreed", self._recorder.here(), site=site, tensors=count, times=times)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """What a loader gives is on the CPU, unless its dataset is not."""
        place = Place(gpu=False, how="batch", site=here.site)
        for tensor in tensors(batch):
            known = self._where.of(tensor)
            if known is None or not known.gpu:
                places.set(tensor, place)
            elif known.site >= 0:
                loader = self.watch.loaders.known.get(self.watch.marks.of(tensor).loader)
                if loader is not None and get_start_method(allow_none=True) in (None, "fork"):
                    self._count(known.site, loader, held=True)

    def on_dropped(self, key: int, value: Any) -> None:
        """A statement moves a tensor that it names; on the GPU there is a copy now that nobody has."""
        result, before, tensor = places.latest
        node = self._recorder.index.nodes[key]
        if result is not value and (where := self._where.of(value)) is not None and where.gpu:
            self._agree(self._recorder.index.site(key), [where])  # it was there
        if result is not value or tensor is value or not NAME.fullmatch(node.text):
            return
        if before is None:
            before = Place(gpu=False, how="batch")
            places.set(tensor, before)
        self._where.lost.append(before)
        self._recorder.event(
            "MoveLost",
            self._recorder.here(),
            site=self._recorder.index.site(key),
            name=node.text,
            device="cuda:0",
            elements=tensor.numel(),
        )
