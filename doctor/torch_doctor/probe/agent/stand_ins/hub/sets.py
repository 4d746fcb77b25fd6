"""Data sets of the `datasets` library that are not there: made-up rows of their columns, as the library's own objects."""

from __future__ import annotations

import functools
import inspect
import os
import re
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..source import targets
from ..stand_in import StandIn
from . import columns, rows, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from ..source import Sources
    from ..told import Teller

WHY = "data not found"
MARK = "made up by torch-doctor"  # the description of a data set goes with everything that is made of it
TRAIN, OTHER = 1_024, 256  # rows
ENDLESS = 10**9  # more rows than any set has
BUILDERS = frozenset({"csv", "json", "text", "parquet", "pandas", "arrow", "xml", "imagefolder", "webdataset"})
REST = ("train", "validation", "test")
SHOWN = 6


class HubDatasets(StandIn):
    """Data sets of the `datasets` library."""

    replaces = "data not found"
    voids = (told.VALUES,)

    def prepare(self) -> None:
        """Patches `datasets` when it is imported."""
        after("datasets", functools.partial(_patch, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    datasets: Any = module
    if not hasattr(datasets, "load_dataset"):  # a folder of the project's own that is called so
        return
    makes = Sets(datasets, stand_in.sources, stand_in.teller)
    for name in ("load_dataset", "load_from_disk"):
        patched = makes.loading(getattr(datasets, name), makes.hub if name == "load_dataset" else makes.disk)
        setattr(datasets, name, patched)
        setattr(datasets.load, name, patched)
    for cls in (datasets.Dataset, datasets.DatasetDict):
        for name in ("map", "filter"):
            setattr(cls, name, _in_this_process(getattr(cls, name), stand_in))
    datasets.Dataset.select = _within(datasets.Dataset.select)
    datasets.Dataset.train_test_split = _parted(datasets.Dataset.train_test_split)


class Sets:
    """Makes data sets up."""

    def __init__(self, datasets: Any, sources: Sources, teller: Teller) -> None:
        self._datasets = datasets
        self._sources = sources
        self._teller = teller

    def loading(self, load: Callable[..., Any], instead: Callable[[dict[str, Any]], Any]) -> Any:
        """The function that loads what is there, and else makes it up."""
        signature = inspect.signature(load)

        @functools.wraps(load)
        def loaded(*arguments: Any, **keywords: Any) -> Any:
            try:
                return load(*arguments, **keywords)
            except OSError:  # what cannot be reached, or found, is one for this library
                bound = signature.bind(*arguments, **keywords)
                made = instead(dict(bound.arguments))
                if made is None:
                    raise
                return made
            except ValueError as error:
                if "Couldn't find cache" not in str(error):  # another configuration of it is there
                    raise
                bound = signature.bind(*arguments, **keywords)
                return instead(dict(bound.arguments))

        return loaded

    def hub(self, given: dict[str, Any]) -> Any:
        """What `load_dataset` gives; None where something is there and wrong, or no column can be known."""
        path, files = str(given["path"]), given.get("data_files") or given.get("data_dir")
        if path in BUILDERS and files is None:
            return None
        if (os.path.lexists(path) and path not in BUILDERS) or any(os.path.lexists(each) for each in _flat(files)):
            return None
        found = table.known(path, given.get("name")) if path not in BUILDERS else None
        held = self._held()
        kinds = _parsed(found.columns) if found is not None else self._kinds(path, given, held)
        if given.get("features") is not None:
            kinds = {name: kinds.get(name, "text") for name in given["features"]}
        called = ", ".join(repr(each) for each in (path, given.get("name")) if each is not None)
        shown = f"load_dataset({called})" if path not in BUILDERS else next(iter(_flat(files)), path)
        if not kinds:
            self._unknown(shown)
            return None
        if path in BUILDERS:
            splits = list(files) if isinstance(files, dict) else ["train"]
        else:
            splits = list(found.splits) if found is not None else self._splits(held)
        asked = given.get("split")
        splits += [name for name in _named(asked) if name not in splits]
        whole = self._made(kinds, splits, shown)
        taken = whole if asked is None else self._taken(whole, asked)
        return self._streamed(taken) if given.get("streaming") else taken

    def disk(self, given: dict[str, Any]) -> Any:
        """What `load_from_disk` gives; None where something is there and wrong, or no column can be known."""
        path = os.fspath(next(iter(given.values())))
        if os.path.lexists(path):
            return None
        held = self._held()
        kinds = columns.read(self._sources, held)
        if not kinds:
            self._unknown(path)
            return None
        splits = columns.splits(self._sources, held)
        whole = self._made(kinds, splits or ["train"], path)
        return whole if splits else whole["train"]

    # --- what it is made of ---

    def _held(self) -> set[str]:
        frame = self._sources.innermost()
        statements = self._sources.statements(frame) if frame is not None else []
        return set(targets(statements[0])) if statements else set()

    def _kinds(self, path: str, given: dict[str, Any], held: set[str]) -> dict[str, str]:
        if path == "text":
            return {"text": "text"}
        if path == "imagefolder":
            return {"image": "image:64x64x3", "label": "class:2"}
        wanted = given.get("column_names") or given.get("names")
        found = columns.read(self._sources, held)
        return {name: found.get(name, "text") for name in wanted} if wanted else found

    def _splits(self, held: set[str]) -> list[str]:
        return list(dict.fromkeys([*REST, *columns.splits(self._sources, held)]))

    def _made(self, kinds: dict[str, str], splits: Iterable[str], shown: str) -> Any:
        datasets = self._datasets
        features = datasets.Features({name: rows.feature(datasets, kind) for name, kind in kinds.items()})
        info = datasets.DatasetInfo(description=MARK, features=features)
        parts = {
            name: datasets.Dataset.from_dict(
                rows.made(kinds, TRAIN if name.startswith("train") else OTHER, name), features, info, name
            )
            for name in splits
        }
        counts = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
        names = ", ".join([*list(kinds)[:SHOWN], *("…" for _ in list(kinds)[SHOWN : SHOWN + 1])])
        self._teller.stand_in(shown, WHY, f"synthetic samples ({counts}) of {names}", [told.VALUES, told.FILES])
        return datasets.DatasetDict(parts)

    def _taken(self, whole: Any, asked: Any) -> Any:
        """The split, or the splits, that `split=` asks for."""
        if isinstance(asked, (list, tuple)):
            return [self._taken(whole, each) for each in asked]
        if isinstance(asked, dict):
            return self._datasets.DatasetDict({name: self._taken(whole, each) for name, each in asked.items()})
        if str(asked) == "all":
            return self._datasets.concatenate_datasets(list(whole.values()))
        instruction = asked
        if not hasattr(asked, "to_absolute"):
            instruction = self._datasets.ReadInstruction.from_spec(str(asked))
        found = [self._part(whole[each.splitname], each.from_, each.to) for each in _absolute(instruction, whole)]
        return found[0] if len(found) == 1 else self._datasets.concatenate_datasets(found)

    def _part(self, part: Any, first: int, last: int) -> Any:
        count = len(part)
        if first >= count:  # rows that the real one has beyond ours
            first, last = 0, min(count, last - first)
        return part.select(range(first, min(last, count))) if (first, last) != (0, count) else part

    def _streamed(self, taken: Any) -> Any:
        if isinstance(taken, list):
            return [self._streamed(each) for each in taken]
        if isinstance(taken, dict):
            return self._datasets.IterableDatasetDict({name: self._streamed(each) for name, each in taken.items()})
        return taken.to_iterable_dataset()

    def _unknown(self, shown: str) -> None:
        text = f"the script loads {shown}, which was not found, and its columns are unknown: download it first"
        self._teller.missing(shown, text)


def _parsed(text: str) -> dict[str, str]:
    """Columns written as `name=kind name=kind`."""
    pairs = (part.partition("=") for part in re.split(r" (?=[\w-]+=)", text))
    return {name: kind for name, _, kind in pairs}


def _named(asked: Any) -> list[str]:
    """The splits that `split=` names."""
    if isinstance(asked, (list, tuple)):
        return [name for each in asked for name in _named(each)]
    if isinstance(asked, dict):
        return [name for each in asked.values() for name in _named(each)]
    if asked is None or hasattr(asked, "to_absolute") or str(asked) == "all":
        return []
    return [part.partition("[")[0].strip() for part in str(asked).split("+")]


def _absolute(instruction: Any, whole: Any) -> list[Any]:
    """The parts that an instruction takes; rows that are counted are those of the real set."""
    counted = "%" not in str(instruction.to_spec())
    found: list[Any] = instruction.to_absolute(
        {name: ENDLESS if counted else len(part) for name, part in whole.items()}
    )
    return found


def _flat(files: Any) -> list[str]:
    if files is None:
        return []
    if isinstance(files, dict):
        return [name for each in files.values() for name in _flat(each)]
    return [name for each in files for name in _flat(each)] if isinstance(files, (list, tuple)) else [str(files)]


# --- what the real sets have more rows of ---


def _is_made(dataset: Any) -> bool:
    return bool(getattr(dataset.info, "description", "") == MARK)


def _within(select: Callable[..., Any]) -> Any:
    """`Dataset.select`, where a made-up set has fewer rows than are chosen: as many as it has."""

    @functools.wraps(select)
    def selected(self: Any, indices: Any, *arguments: Any, **keywords: Any) -> Any:
        count = len(self)
        if _is_made(self) and count:
            indices = indices if isinstance(indices, range) else list(indices)
            if max(indices, default=0) >= count:
                indices = [index % count for index in indices[:count]]
        return select(self, indices, *arguments, **keywords)

    return selected


def _parted(split: Callable[..., Any]) -> Any:
    """`Dataset.train_test_split`, where the sizes are numbers of rows that a made-up set does not have."""

    @functools.wraps(split)
    def parted(self: Any, test_size: Any = None, train_size: Any = None, *arguments: Any, **keywords: Any) -> Any:
        sizes = [size for size in (test_size, train_size) if isinstance(size, int)]
        if _is_made(self) and sum(sizes) >= len(self):
            shrunk = (len(self) - 1 if len(sizes) == 1 else len(self)) * 0.5
            test_size, train_size = (
                max(1, int(shrunk * size / max(sizes))) if isinstance(size, int) else size
                for size in (test_size, train_size)
            )
        return split(self, test_size, train_size, *arguments, **keywords)

    return parted


def _in_this_process(method: Callable[..., Any], stand_in: StandIn) -> Any:
    """`map` or `filter`, whose rows are not handed to other processes."""

    @functools.wraps(method)
    def called(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if keywords.pop("num_proc", None) not in (None, 0, 1):  # for some versions, one is another process
            stand_in.tell("num_proc", "one process", why="no worker processes", voids=[])
        return method(self, *arguments, **keywords)

    return called
