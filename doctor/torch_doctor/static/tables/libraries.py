"""The libraries that cannot touch a gradient or a mode, and the functions that hand on what they iterate over."""

from __future__ import annotations

import functools
from typing import Literal, NamedTuple, TypeAlias

from torch_doctor.static.tables import words

Style: TypeAlias = Literal["same", "enumerate", "zip", "cycle"]


class PassThrough(NamedTuple):
    """Where a function has the iterable whose items it gives, and how."""

    position: int
    style: Style = "same"  # enumerate: (index, item); zip: one item of each argument; cycle: without an end


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
            types typing typing_extensions unicodedata urllib uuid warnings weakref xml zipfile zlib traceback
            faulthandler ctypes bz2 pstats distutils codecs
            """
        ),
        # Numbers, data, pictures, sound, text
        *words(
            """
            numpy scipy pandas polars pyarrow sklearn statsmodels matplotlib seaborn plotly bokeh PIL cv2 skimage
            imageio albumentations imgaug h5py zarr lmdb netCDF4 xarray nibabel librosa soundfile nltk spacy
            sentencepiece tokenizers jieba sacrebleu rouge_score jiwer datasets networkx rdkit numba joblib dill
            cloudpickle msgpack pycocotools lxml gym gymnasium tabulate prettytable termcolor colorama rich tqdm
            fastprogress alive_progress progressbar halo psutil pynvml GPUtil yaml toml tomllib ruamel requests
            gdown boto3 s3fs fsspec huggingface_hub kaggle kagglehub IPython ipywidgets google umap imblearn
            easydict addict yacs omegaconf ml_collections munch attr attrs pydantic simple_parsing configargparse
            docopt loguru absl.logging absl.flags torch_scatter torch_sparse einops safetensors orjson ujson regex
            pkbar torchnet.meter timm.utils.metrics six packaging tiktoken pyparsing faiss annoy
            """
        ),
        # Trackers: watch adds hooks that read
        *words(
            """
            wandb mlflow tensorboard tensorboardX tensorboard_logger visdom comet_ml neptune clearml aim swanlab
            livelossplot dvclive aimstack trackio hiddenlayer
            """
        ),
        # Measures and summaries: they run a forward and put the mode back
        *words(
            """
            torchmetrics evaluate torcheval torchsummary torchsummaryX torchinfo torchviz fvcore thop
            pytorch_model_summary pytorch_msssim lpips pytorch_fid ignite.metrics seqeval codecarbon
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
            torchvision.utils torchvision.transforms torchvision.datasets torchvision.io torchvision.ops
            torchvision.tv_tensors torchaudio.transforms torchaudio.functional torchaudio.datasets torchaudio.load
            torchaudio.save torchtext.data.metrics torchtext.vocab torchtext.datasets torchtext.data.utils
            torch_geometric.data torch_geometric.datasets torch_geometric.utils torch_geometric.transforms
            torch_geometric.seed_everything torch_geometric.loader
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
        # Of frameworks: seeds, tokenizers, logging
        *words(
            """
            transformers.set_seed transformers.AutoTokenizer transformers.AutoConfig transformers.AutoProcessor
            transformers.logging transformers.utils.logging transformers.AutoImageProcessor
            transformers.HfArgumentParser transformers.AutoFeatureExtractor transformers.BertTokenizer
            transformers.GPT2Tokenizer transformers.TrainingArguments transformers.DataCollatorWithPadding
            transformers.DataCollatorForLanguageModeling accelerate.logging accelerate.set_seed
            accelerate.utils.ProjectConfiguration lightning.seed_everything timm.utils.accuracy
            timm.utils.AverageMeter timm.utils.random_seed timm.utils.update_summary timm.utils.reduce_tensor
            timm.utils.setup_default_logging timm.data.resolve_data_config timm.data.create_transform
            ray.tune.report ray.train.report ray.air.session.report ray.init ray.shutdown optuna.create_study
            optuna.trial optuna.exceptions optuna.TrialPruned optuna.logging hydra.utils.get_original_cwd
            hydra.utils.to_absolute_path horovod.torch.rank horovod.torch.size horovod.torch.local_rank
            horovod.torch.init horovod.torch.allreduce horovod.torch.broadcast_parameters functools
            horovod.torch.broadcast_optimizer_state deepspeed.init_distributed deepspeed.add_config_arguments
            """
        ),
    )
)
"""Packages, modules and functions that never step, clear, run a backward or switch the mode of what they are given."""

HARMFUL: frozenset[str] = frozenset(
    {
        "wandb.agent",
        "functools.reduce",
        "torch.cuda.make_graphed_callables",
        "torch.cuda.graph",
        "torch.cuda.graphs",
        "torch.cuda.CUDAGraph",
        "itertools.starmap",
        "itertools.accumulate",
        "joblib.Parallel",
        "sklearn.model_selection.cross_val_score",
        "sklearn.model_selection.cross_validate",
        "sklearn.model_selection.GridSearchCV",
        "scipy.optimize.minimize",
        "scipy.optimize.root",
    }
)
"""The exceptions among them: they call what they are given, or hand on what may."""


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


PASS_THROUGH: dict[str, PassThrough] = {
    **{name: PassThrough(0) for name in ("iter", "list", "tuple", "reversed", "sorted", "set", "frozenset")},
    "enumerate": PassThrough(0, "enumerate"),
    "zip": PassThrough(0, "zip"),
    "itertools.islice": PassThrough(0),
    "itertools.cycle": PassThrough(0, "cycle"),
    "itertools.chain": PassThrough(0),
    "itertools.zip_longest": PassThrough(0, "zip"),
    "itertools.takewhile": PassThrough(1),
    "itertools.dropwhile": PassThrough(1),
    # https://tqdm.github.io; its other spellings are canonical here
    "tqdm.tqdm": PassThrough(0),
    "tqdm.contrib.tenumerate": PassThrough(0, "enumerate"),
    "tqdm.contrib.tzip": PassThrough(0, "zip"),
    # https://rich.readthedocs.io/en/stable/progress.html
    "rich.progress.track": PassThrough(0),
    # https://fastprogress.fast.ai
    "fastprogress.progress_bar": PassThrough(0),
    "fastprogress.master_bar": PassThrough(0),
    "fastprogress.fastprogress.progress_bar": PassThrough(0),
    "fastprogress.fastprogress.master_bar": PassThrough(0),
    "alive_progress.alive_it": PassThrough(0),
    "progressbar.progressbar": PassThrough(0),
    "more_itertools.peekable": PassThrough(0),
    "accelerate.skip_first_batches": PassThrough(0),
}
"""Functions that give the items of an argument, in its order (sorted and reversed aside)."""

PLAIN = frozenset(
    words(
        """
        numpy math os time argparse json random logging sys pathlib yaml pandas matplotlib datetime collections
        itertools re sklearn scipy warnings string glob csv pickle shutil cv2 PIL click
        """
    )
)
"""Packages whose harmless functions return numbers, strings, arrays or settings."""

MEANS = frozenset(words("numpy.mean numpy.average numpy.nanmean statistics.mean statistics.fmean"))
"""Functions that return the mean of a list of numbers."""

RANGES = frozenset({"range", "tqdm.trange", "itertools.count", "torch.arange", "numpy.arange"})
"""Calls that count."""
