"""What Lightning had (arguments of its trainer, hooks at the end of an epoch), and what it wants a GPU for."""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import importlib.util
import inspect
from typing import TYPE_CHECKING, Any

from ... import imports
from .. import told
from ..fallbacks import importing_frame
from .names import Removed, loaded, moved

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

RENAMED = {
    "max_nb_epochs": "max_epochs",
    "min_nb_epochs": "min_epochs",
    "checkpoint_callback": "enable_checkpointing",
    "weights_summary": "enable_model_summary",
    "progress_bar_refresh_rate": "enable_progress_bar",
    "default_save_path": "default_root_dir",
    "distributed_backend": "strategy",
    "val_percent_check": "limit_val_batches",
    "train_percent_check": "limit_train_batches",
    "test_percent_check": "limit_test_batches",
    "nb_sanity_val_steps": "num_sanity_val_steps",
    "row_log_interval": "log_every_n_steps",
    "overfit_pct": "overfit_batches",
    "replace_sampler_ddp": "use_distributed_sampler",
}
SWITCHES = frozenset({"enable_checkpointing", "enable_model_summary", "enable_progress_bar"})
GONE = frozenset(
    "gpus tpu_cores num_processes ipus auto_select_gpus auto_lr_find auto_scale_batch_size amp_backend "
    "amp_level flush_logs_every_n_steps terminate_on_nan prepare_data_per_node truncated_bptt_steps "
    "track_grad_norm multiple_trainloader_mode move_metrics_to_cpu stochastic_weight_avg process_position "
    "log_gpu_memory resume_from_checkpoint early_stop_callback weights_save_path "
    "reload_dataloaders_every_epoch log_save_interval show_progress_bar use_amp print_nan_grads".split()
)
DEVICES = ("gpu", "cuda", "tpu", "mps")
STRATEGIES = ("ddp", "ddp2", "ddp_cpu", "ddp_spawn", "dp", "horovod")
PARTS = ("training", "validation", "test")


def _names(top: str) -> dict[str, dict[str, tuple[str, Callable[[], Any]]]]:
    """Names that modules had, under one of Lightning's own."""
    ranks = moved(f"{top}.strategies:DDPStrategy")
    return {
        "utilities.seed": {"seed_everything": moved(f"{top}:seed_everything")},
        "plugins": dict.fromkeys(("DDPPlugin", "DDP2Plugin", "DDPShardedPlugin"), ranks),
        "callbacks": {"ProgressBar": moved(f"{top}.callbacks:TQDMProgressBar")},
        "loggers": {"TestTubeLogger": (f"{top}.loggers.CSVLogger", lambda: _tube(top))},
    }


def _tube(top: str) -> Any:
    logger = loaded(f"{top}.loggers:CSVLogger")

    def build(save_dir: Any, name: Any = "default", *_: Any, version: Any = None, **__: Any) -> Any:
        return logger(save_dir, name, version)

    return build


class LightningNames(Removed):
    """Arguments and hooks that Lightning had, under both of its names."""

    def prepare(self) -> None:
        """Patches the trainer, Fabric and the module when they are imported."""
        for top in ("pytorch_lightning", "lightning.pytorch"):
            imports.after(f"{top}.trainer.trainer", self._patch_trainer)
            imports.after(f"{top}.trainer.configuration_validator", self._patch_check)
            imports.after(f"{top}.core.mixins.hparams_mixin", self._patch_settings)
            for name, known in _names(top).items():
                imports.after(f"{top}.{name}", functools.partial(self.names, known=known))
        for top in ("lightning_fabric", "lightning.fabric"):
            imports.after(f"{top}.fabric", self._patch_fabric)
        imports.where_absent(self._find)

    def _find(self, name: str) -> ModuleSpec | None:
        """`pytorch_lightning` is the one in `lightning`, where only that is installed."""
        frame = importing_frame()
        if not name.startswith("pytorch_lightning") or frame is None:
            return None
        if importlib.util.find_spec("lightning") is None:
            return None
        whole = name.replace("pytorch_lightning", "lightning.pytorch", 1)
        if importlib.util.find_spec(whole) is None:
            return None
        self.was_used(name, whole)
        return imports.spec_of(name, lambda _: importlib.import_module(whole))

    def _patch_trainer(self, module: ModuleType) -> None:
        trainer: Any = vars(module)["Trainer"]
        build = trainer.__init__
        parameters = inspect.signature(build).parameters

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            for name in [name for name in keywords if name not in parameters and (name in RENAMED or name in GONE)]:
                value = keywords.pop(name)
                new = RENAMED.get(name)
                self.took_argument("Trainer", name, new if new in parameters else None, module.__name__)
                if new in SWITCHES and not isinstance(value, bool):
                    value = bool(value) if value is not None else False
                if new is not None and new in parameters and value is not None:
                    keywords.setdefault(new, value)
            self._place("Trainer", keywords)
            build(this, *arguments, **keywords)

        trainer.__init__ = built
        if not hasattr(trainer, "add_argparse_args"):
            trainer.add_argparse_args = staticmethod(functools.partial(self._options, trainer, parameters))
            trainer.from_argparse_args = classmethod(functools.partial(self._of_options, parameters=parameters))

    def _options(self, trainer: Any, parameters: Any, parser: Any, **_: Any) -> Any:
        """The options that a trainer gave a parser: all that it takes, with their defaults."""
        self.was_used("Trainer.add_argparse_args", "an option for each argument")
        group = parser.add_argument_group(f"pl.{trainer.__name__}")
        known = {name: each.default for name, each in parameters.items() if name != "self"}
        for name, default in {**dict.fromkeys((*RENAMED, *GONE)), **known}.items():
            with contextlib.suppress(argparse.ArgumentError):
                group.add_argument(f"--{name}", type=_value, default=default, help=argparse.SUPPRESS)
        return parser

    def _of_options(self, trainer: Any, args: Any, *, parameters: Any, **keywords: Any) -> Any:
        """A trainer with the values of these options."""
        self.was_used("Trainer.from_argparse_args", "Trainer(…)")
        own = {*parameters, *RENAMED, *GONE} - {"self"}
        given = {name: value for name, value in vars(args).items() if name in own and value is not None}
        return trainer(**{**given, **keywords})

    def _patch_fabric(self, module: ModuleType) -> None:
        fabric: Any = vars(module)["Fabric"]
        build = fabric.__init__

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            self._place("Fabric", keywords)
            build(this, *arguments, **keywords)

        fabric.__init__ = built

    def _place(self, name: str, keywords: dict[str, Any]) -> None:
        """What asks for GPUs where there are none gets the CPU, and this process alone; a strategy was an accelerator once."""
        given = keywords.get("plugins")
        plugins = [each for each in (given if isinstance(given, (list, tuple)) else [given]) if each is not None]
        kept = [each for each in plugins if ".strategies." not in type(each).__module__]
        if keywords.get("accelerator") in STRATEGIES or len(kept) < len(plugins):
            what = f"{name}(accelerator={keywords.get('accelerator')!r})"
            self.tell(what, "this process alone", voids=[told.PROCESSES, told.VERSION])
            keywords.update(accelerator="auto", strategy="auto", plugins=kept or None)
        if keywords.get("accelerator") in DEVICES and not loaded("torch:cuda").is_available():
            how = "the CPU"
            self.tell(
                f"{name}(accelerator={keywords['accelerator']!r})", how, why="a GPU", voids=[told.DEVICE, told.VERSION]
            )
            keywords.update(accelerator="cpu", devices=1, strategy="auto")

    def _patch_check(self, module: ModuleType) -> None:
        """Before the check that refuses the old hooks, they are hung where the new ones are."""
        checking: Any = module
        check = checking._verify_loop_configurations

        @functools.wraps(check)
        def checked(trainer: Any) -> None:
            model = trainer.lightning_module
            for part in PARTS:
                if callable(getattr(model, f"{part}_epoch_end", None)):
                    self._hang(type(model), part)
            check(trainer)

        checking._verify_loop_configurations = checked

    def _patch_settings(self, module: ModuleType) -> None:
        """`self.hparams` could be assigned, and what was, was kept for checkpoints."""
        mixin: Any = vars(module)["HyperparametersMixin"]
        if not isinstance(mixin.hparams, property) or mixin.hparams.fset is not None:
            return

        def assign(this: Any, value: Any) -> None:
            self.was_used("LightningModule.hparams = …", "save_hyperparameters(…)")
            this._set_hparams(value)

        mixin.hparams = mixin.hparams.setter(assign)

    def _hang(self, cls: Any, part: str) -> None:
        """Has a step's results kept, and the hook called with them at the end of an epoch."""
        owner = next((each for each in cls.__mro__ if f"{part}_epoch_end" in vars(each)), None)
        if owner is None:
            return
        ends = vars(owner)[f"{part}_epoch_end"]
        delattr(owner, f"{part}_epoch_end")
        step = getattr(cls, f"{part}_step")
        hook = f"on_{'train' if part == 'training' else part}_epoch_end"
        follows = getattr(cls, hook, None)
        kept: list[Any] = []
        self.was_used(f"{part}_epoch_end", hook)

        @functools.wraps(step)
        def stepped(this: Any, *arguments: Any, **keywords: Any) -> Any:
            found = step(this, *arguments, **keywords)
            kept.append(_detached(found))
            return found

        def ended(this: Any, *arguments: Any, **keywords: Any) -> None:
            outputs, kept[:] = list(kept), []
            ends(this, outputs)
            if follows is not None:
                follows(this, *arguments, **keywords)

        setattr(cls, f"{part}_step", stepped)
        setattr(cls, hook, ended)


def _detached(value: Any) -> Any:
    """A result without its graph."""
    if isinstance(value, dict):
        return {name: _detached(each) for name, each in value.items()}
    return value.detach() if hasattr(value, "detach") else value


def _value(text: str) -> Any:
    """The number, or what else a text says."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
