"""The libraries that cannot touch a gradient or a mode, and the functions that hand on what they iterate over."""

from __future__ import annotations

import functools
import sys

from torch_doctor.static import libraries
from torch_doctor.static.libraries.library import PassThrough
from torch_doctor.static.tables import words

_BUILTINS = frozenset(
    (
        *words(
            """
            abs all any ascii bin bool breakpoint bytearray bytes callable chr complex dict dir divmod enumerate
            float format frozenset getattr hasattr hash hex id input int isinstance issubclass iter len list max
            memoryview min next object oct open ord pow print range repr reversed round set slice sorted str sum
            tuple type vars zip globals locals exit quit display
            """
        ),
    )
)
"""Not: map, filter, exec, eval, setattr, delattr."""

HARMLESS: frozenset[str] = frozenset(
    (
        # The standard library; not what calls what it is given: threading, concurrent, multiprocessing, timeit, atexit.
        *words(
            """
            abc argparse array ast base64 bisect calendar cmath collections configparser contextlib copy csv
            dataclasses datetime decimal difflib enum errno fnmatch fractions gc getopt getpass glob gzip hashlib
            heapq html http importlib inspect io itertools json linecache locale logging lzma math numbers operator
            os pathlib pickle pkgutil platform pprint queue random re resource secrets select shelve shlex shutil
            signal socket sqlite3 statistics string struct subprocess sys tarfile tempfile textwrap time tracemalloc
            types typing typing_extensions tomllib unicodedata urllib uuid warnings weakref xml zipfile zlib traceback
            faulthandler functools ctypes bz2 pstats distutils codecs
            """
        ),
        # torch and its own
        *words(
            """
            torch.backends torch.cuda torch.mps torch.xpu torch.random torch.nn.init torch.profiler
            torch.utils.tensorboard torch.utils.data torch.utils.model_zoo torch.utils.benchmark
            torch.utils.flop_counter torch.utils.collect_env torch.version torch.iinfo torch.finfo torch.onnx
            torch.hub torch.autograd.profiler torch.autograd.set_detect_anomaly torch.autograd.detect_anomaly
            torch.serialization torch.save torch.load torch.manual_seed torch.seed torch.set_printoptions
            torch.jit.save torch.distributions torch.testing torch.special torch.linalg torch.fft torch.sparse
            torch.nested torch.nn.utils.rnn torch.nn.utils.parameters_to_vector torch.nn.utils.get_total_norm
            torch.optim.swa_utils.update_bn
            """
        ),
        *(
            f"torch.distributed.{name}"
            for name in (
                *words(
                    """
                    all_reduce reduce broadcast all_gather gather scatter reduce_scatter all_to_all barrier
                    all_gather_object gather_object broadcast_object_list scatter_object_list send recv isend irecv
                    init_process_group destroy_process_group get_rank get_world_size is_initialized is_available
                    new_group get_backend is_nccl_available monitored_barrier ReduceOp TCPStore
                    all_gather_into_tensor reduce_scatter_tensor is_torchelastic_launched is_gloo_available
                    all_to_all_single device_mesh get_process_group_ranks is_mpi_available FileStore HashStore
                    """
                ),
            )
        ),
        *libraries.every(lambda library: library.harmless),
    )
)
"""Packages, modules and functions that never step, clear, run a backward or switch the mode of what they are given."""

HARMFUL: frozenset[str] = frozenset(
    {
        "functools.reduce",
        "torch.cuda.make_graphed_callables",
        "torch.cuda.graph",
        "torch.cuda.graphs",
        "torch.cuda.CUDAGraph",
        "itertools.starmap",
        "itertools.accumulate",
        *libraries.every(lambda library: library.harmful),
    }
)
"""The exceptions among them: they call what they are given, or hand on what may."""


_OTHERS = frozenset(("builtins", "importlib", "operator", "copy", "pickle", "runpy", "pydoc"))
"""What may return anything that is somebody else's."""
NEUTRAL: frozenset[str] = frozenset(("torch", *libraries.every(lambda library: library.neutral)))
"""Packages, modules and functions whose decorators and contexts switch nothing; what torch has that does is modelled."""


STACKS = frozenset(("contextlib.ExitStack", "contextlib.AsyncExitStack"))
"""What enters contexts by a call, and leaves them all together."""


@functools.lru_cache(maxsize=16384)
def harmless(name: str) -> bool:
    """Tell whether a call of this canonical name leaves gradients and modes alone; it says nothing of the result.

    Ask it only for names that do not lead into the project: people call their own modules datasets and evaluate.
    """
    name = name.removeprefix("builtins.")
    if "." not in name:
        return name in _BUILTINS or name in HARMLESS
    prefix = name
    while prefix:
        if prefix in HARMFUL:
            return False
        if prefix in HARMLESS:
            return True
        prefix = prefix.rpartition(".")[0]
    return False


def neutral(name: str) -> bool:
    """Tell whether what a call of this canonical name makes leaves modes alone, as a context and as a decorator."""
    first = name.partition(".")[0]
    if first in _OTHERS:
        return name == "builtins.open"
    if harmless(name) or first in sys.stdlib_module_names:
        return True
    prefix = name
    while prefix and prefix not in NEUTRAL:
        prefix = prefix.rpartition(".")[0]
    return bool(prefix)


_HEARD_OF = frozenset(name.partition(".")[0] for name in (*HARMLESS, *HARMFUL, *NEUTRAL))


def heard_of(name: str) -> bool:
    """Tell whether anything is known of the package that this canonical name belongs to."""
    first = name.partition(".")[0]
    return first in _HEARD_OF or first in _OTHERS or first in sys.stdlib_module_names


PASS_THROUGH: dict[str, PassThrough] = {
    **{name: PassThrough(0) for name in ("iter", "list", "tuple", "reversed", "sorted", "set", "frozenset")},
    "enumerate": PassThrough(0, "enumerate"),
    "zip": PassThrough(0, "zip"),
    "itertools.islice": PassThrough(0, "part"),
    "itertools.cycle": PassThrough(0, "cycle"),
    "itertools.chain": PassThrough(0),
    "itertools.zip_longest": PassThrough(0, "zip"),
    "itertools.takewhile": PassThrough(1, "part"),
    "itertools.dropwhile": PassThrough(1, "part"),
    **libraries.table(lambda library: library.passes),
}
"""Functions that give the items of an argument, in its order (sorted and reversed aside)."""

PLAIN = frozenset(
    (
        *words(
            """
            math os time argparse json random logging sys pathlib datetime collections itertools re warnings string glob
            csv pickle shutil
            """
        ),
        *libraries.every(lambda library: library.plain),
    )
)
"""Packages whose harmless functions return numbers, strings, arrays or settings."""

MEANS = frozenset(("statistics.mean", "statistics.fmean", *libraries.every(lambda library: library.means)))
"""Functions that return the mean of a list of numbers."""

RANGES = frozenset({"torch.arange", *libraries.every(lambda library: library.ranges)})
"""Calls of libraries that count as `range` does."""
