"""Modules that are not there: those that play no part in training are stood in for, others end the run where they are used."""

from __future__ import annotations

import functools
import importlib.machinery
import os
import sys
from typing import TYPE_CHECKING, Any

from .. import imports
from . import told
from .fallbacks import has_fallback, importing_frame, is_a_name, is_only_asking
from .hub.metrics import make_evaluate
from .plain_tqdm import make_tqdm
from .postponed import PostponedModule, asked_for
from .silent import Silent, SilentModule
from .small_packages import completed
from .source import INSTALLED
from .stand_in import StandIn
from .unknown import left_out
from .unknown.names import UnknownModule
from .unknown.things import Unknowns

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from .stand_in import Setting


# Import name → what it is for, where leaving it out changes nothing that is learnt.
IDLE = {
    **dict.fromkeys(
        "matplotlib mpl_toolkits pylab seaborn plotly bokeh hiddenlayer graphviz torchviz pydot pygraphviz altair pyecharts "
        "livelossplot scienceplots PyQt5 tkinter pygame imgcat celluloid cmocean adjustText turtle wordcloud".split(),
        "plotting",
    ),
    **dict.fromkeys("tqdm progressbar alive_progress progress enlighten fastprogress".split(), "progress bar"),
    **dict.fromkeys(
        "torchsummary torchinfo torchsummaryX pytorch_model_summary thop ptflops fvcore prettytable tabulate texttable "
        "rich colorama termcolor colorlog coloredlogs loguru icecream pyfiglet blessed crayons beautifultable".split(),
        "console output",
    ),
    **dict.fromkeys(
        "IPython ipdb pudb ipywidgets snoop line_profiler memory_profiler gpustat pynvml nvidia_smi GPUtil pyinstrument "
        "setproctitle better_exceptions nvitop jupyter google ipykernel".split(),
        "debugging or profiling",
    ),
    **dict.fromkeys("yagmail slack telegram notifiers knockknock twilio pushover playsound".split(), "messaging"),
    "evaluate": "metrics",
    **dict.fromkeys("nni kaggle dotenv google.colab".split(), "download or launch"),
}
PLAYING = frozenset(
    "numpy pandas scipy pytorch_lightning lightning ignite fastai catalyst poutyne skorch keras mmcv mmengine mmdet mmseg "
    "deepspeed jax flax paddle".split()
)
"""Packages that hold the data, or the loop that trains: without them there is nothing to look at."""
LAST = {"torchtext": "whose last version was built for torch 2.3"}
"""Packages of which there is none for newer versions."""
LONGEST = 150  # characters of an error
DEEPEST = 3  # folders below the project that are looked through
WITHIN = frozenset({"google.colab"})  # packages whose parent may be there without them


class AbsentModules(StandIn):
    """Looks at every module that no finder finds."""

    replaces = "package not installed"
    voids = (told.LOG,)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.unknowns = Unknowns(self)

    def with_torch(self, torch: Any) -> None:
        """Layers and loaders can stand in from now on."""
        self.unknowns.with_torch(torch)

    def prepare(self) -> None:
        """Looks at every module that no finder finds."""
        imports.where_absent(functools.partial(_find, self), last=True)
        imports.where_broken(functools.partial(_broken, self))
        left_out.install(self.unknowns)


def _find(stand_in: AbsentModules, name: str) -> ModuleSpec | None:
    spec = _looked_for(stand_in, name)
    return completed(spec) if spec is not None else None


def _looked_for(stand_in: AbsentModules, name: str) -> ModuleSpec | None:
    top = name.partition(".")[0]
    inside = _inside(stand_in, name)
    if inside is not None:
        return inside
    if name in WITHIN:
        top = name
    frame = importing_frame()
    if (
        frame is None
        or not stand_in.sources.is_users(frame.f_code.co_filename)
        or is_only_asking()
        or has_fallback(stand_in.sources, frame)
    ):
        return None
    return _made(stand_in, name, top)


def _broken(stand_in: AbsentModules, name: str, spec: ModuleSpec) -> Callable[[Exception], ModuleType] | None:
    """What makes a module instead of an installed package that the user's code imports, where that fails."""
    frame = importing_frame()
    if (
        frame is None
        or name in PLAYING
        or name in sys.stdlib_module_names
        or stand_in.sources.is_users(spec.origin or "")
        or not stand_in.sources.is_users(frame.f_code.co_filename)
        or has_fallback(stand_in.sources, frame)
    ):
        return None

    def made(error: Exception) -> ModuleType:
        words = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
        done = "calls that do nothing" if name in IDLE else "placeholders inferred from their use"
        last = f", {LAST[name]}," if name in LAST else ""
        stand_in.teller.note(f"{name} is installed{last} but does not fit ({words}); its names are replaced by {done}")
        if name in IDLE:
            return MADE.get(name, SilentModule)(name)
        return UnknownModule(name, stand_in.unknowns)

    return made


def _inside(stand_in: AbsentModules, name: str) -> ModuleSpec | None:
    """A module of one that a stand-in is, which is like that."""
    parent = sys.modules.get(name.rpartition(".")[0])
    if isinstance(parent, UnknownModule):
        return imports.spec_of(name, functools.partial(UnknownModule, unknowns=stand_in.unknowns))
    if isinstance(parent, PostponedModule):
        return imports.spec_of(name, functools.partial(PostponedModule, user=stand_in))
    return imports.spec_of(name, type(parent)) if isinstance(parent, SilentModule) else None


def _made(stand_in: AbsentModules, name: str, top: str) -> ModuleSpec | None:
    if top in IDLE:
        stand_in.tell(top, "calls that do nothing", why=f"{IDLE[top]} package, not installed")
        return imports.spec_of(name, MADE.get(top, SilentModule))
    own = _own_package(stand_in, name) if name == top else None
    if own is not None:
        stand_in.teller.note(f"{name} is imported from the project itself, as if it were installed")
        return own
    if top in sys.stdlib_module_names or (name != top and is_a_name() and _is_installed(stand_in, name)):
        return None
    if name == top and top in PLAYING:
        return _postponed(stand_in, top)
    return _unknown(stand_in, name)


def _postponed(stand_in: StandIn, top: str) -> ModuleSpec:
    """A module that ends the run where it is used."""
    stand_in.teller.note(f"{asked_for(top)}; the probe runs the script up to its first use")
    return imports.spec_of(top, functools.partial(PostponedModule, user=stand_in))


def _unknown(stand_in: AbsentModules, name: str) -> ModuleSpec:
    """A module whose names are what the script takes them for."""
    absent = asked_for(name) if name == name.partition(".")[0] else f"the script imports {name}, which was not found"
    stand_in.teller.note(f"{absent}; its names are replaced by placeholders inferred from their use")
    return imports.spec_of(name, functools.partial(UnknownModule, unknowns=stand_in.unknowns))


def _is_installed(stand_in: AbsentModules, name: str) -> bool:
    """Whether what a module would be in is a library's."""
    path = getattr(sys.modules.get(name.rpartition(".")[0]), "__file__", None)
    return isinstance(path, str) and not stand_in.sources.is_users(path)


def _own_package(stand_in: StandIn, name: str) -> ModuleSpec | None:
    """The project's own module of this name, which who runs the script has installed or put on the path."""
    project = stand_in.sources.project
    beside = os.path.dirname(os.path.realpath(stand_in.sources.script))
    folders = [os.path.join(project, "src")]
    above = os.path.dirname(beside) if beside != project else ""
    while above and (above == project or above.startswith(project + os.sep)):
        folders.append(above)
        above = os.path.dirname(above)
    found = importlib.machinery.PathFinder.find_spec(name, folders)
    if found is None or (found.origin is None and not _has_modules(found)):
        only = _holding(project, name)
        found = importlib.machinery.PathFinder.find_spec(name, only) if len(only) == 1 else found
    return found


def _has_modules(spec: ModuleSpec) -> bool:
    """Whether a folder without a file `__init__.py` has modules, as a package has."""
    folders = filter(os.path.isdir, spec.submodule_search_locations or ())
    return any(name.endswith(".py") for folder in folders for name in os.listdir(folder))


def _holding(project: str, name: str) -> list[str]:
    """The folders of a project that have a module or a package of this name."""
    found = []
    for top, folders, files in os.walk(project):
        depth = os.path.relpath(top, project).count(os.sep)
        folders[:] = [
            each for each in folders if not each.startswith(".") and each not in INSTALLED and depth < DEEPEST
        ]
        if f"{name}.py" in files or (name in folders and os.path.isfile(os.path.join(top, name, "__init__.py"))):
            found.append(top)
    return found


class Pyplot(SilentModule):
    """`matplotlib`, whose `subplots` gives as many axes as were asked for."""

    def __getattr__(self, name: str) -> Any:
        if name == "subplots":
            return subplots
        return super().__getattr__(name)


class Axes(Silent):
    """The axes of a figure: as many rows and columns of silent ones as it has."""

    def __init__(self, *counts: int) -> None:
        super().__init__("axes")
        self.__dict__["_counts"] = [count for count in counts if count != 1]

    def __len__(self) -> int:
        return self._counts[0] if self._counts else 0

    def __iter__(self) -> Any:
        return iter([Axes(*self._counts[1:]) for _ in range(len(self))])

    def __getitem__(self, place: Any) -> Any:
        return Axes(*self._counts[1:]) if isinstance(place, int) else Silent("axes")

    @property
    def flat(self) -> Any:
        """All of them in one row."""
        total = 1
        for count in self._counts:
            total *= count
        return Axes(total)

    def flatten(self, *_: Any) -> Any:
        """All of them in one row."""
        return self.flat

    ravel = reshape = flatten


def subplots(nrows: int = 1, ncols: int = 1, *_: Any, **__: Any) -> tuple[Silent, Axes]:
    """As `matplotlib.pyplot.subplots`."""
    return Silent("figure"), Axes(nrows, ncols)


MADE: dict[str, Callable[[str], ModuleType]] = {
    "matplotlib": Pyplot,
    "pylab": Pyplot,
    "tqdm": make_tqdm,
    "evaluate": make_evaluate,
}
