"""The frameworks of Hugging Face."""

from __future__ import annotations

from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import LOOP, Framework, Method

# https://huggingface.co/docs/accelerate/package_reference/accelerator
ACCELERATE = Framework(
    name="accelerate",
    owners=frozenset({"accelerate.Accelerator"}),
    methods={
        "prepare": Method(("prepare",), returns="arguments"),
        "prepare_model": Method(("prepare",), of=0, returns="same"),
        "prepare_optimizer": Method(("prepare",), of=0, returns="same"),
        "prepare_scheduler": Method(("prepare",), of=0, returns="same"),
        "prepare_data_loader": Method(("prepare",), of=0, returns="same"),
        "backward": Method(("backward",), of=0, returns="nothing"),
        "clip_grad_norm_": Method(("clip",), of=0, returns="tensor"),
        "clip_grad_value_": Method(("clip",), of=0, returns="nothing"),
        "unscale_gradients": Method(returns="nothing"),
        # Within, step and zero_grad of prepared optimizers wait until the window is full; backward divides the loss.
        "accumulate": Method(returns="context"),
        "no_sync": Method(returns="context"),
        "autocast": Method(returns="context"),
        "main_process_first": Method(returns="context"),
        "local_main_process_first": Method(returns="context"),
        "join_uneven_inputs": Method(returns="context"),
        "profile": Method(returns="context"),
        "gather": Method(("gather",), of=0, returns="same"),
        "gather_for_metrics": Method(("gather",), of=0, returns="same"),
        "reduce": Method(("gather",), of=0, returns="same"),
        "pad_across_processes": Method(("gather",), of=0, returns="same"),
        "unwrap_model": Method(returns="same"),
        "get_state_dict": Method(),
        "free_memory": Method(returns="arguments"),
        "clear": Method(returns="arguments"),
        "skip_first_batches": Method(returns="same"),
        "wait_for_everyone": Method(returns="nothing"),
        "print": Method(returns="nothing"),
        "log": Method(returns="nothing"),
        "init_trackers": Method(returns="nothing"),
        "end_training": Method(returns="nothing"),
        "save": Method(returns="nothing"),
        "save_state": Method(),
        "save_model": Method(returns="nothing"),
        "load_state": Method(),
        "register_for_checkpointing": Method(returns="nothing"),
        "trigger_sync_in_backward": Method(returns="context"),
    },
)

# https://huggingface.co/docs/transformers/main_classes/trainer
TRANSFORMERS = Framework(
    name="transformers",
    owners=frozenset(
        {
            *words(
                """
                transformers.Trainer transformers.Seq2SeqTrainer sentence_transformers.SentenceTransformerTrainer
                trl.SFTTrainer trl.DPOTrainer trl.PPOTrainer trl.RewardTrainer trl.GRPOTrainer trl.ORPOTrainer
                trl.KTOTrainer setfit.Trainer setfit.SetFitTrainer adapters.AdapterTrainer
                """
            ),
        }
    ),
    override_hooks=frozenset(
        {
            *words(
                """
                compute_loss training_step prediction_step evaluation_loop prediction_loop create_optimizer
                create_scheduler create_optimizer_and_scheduler get_train_dataloader get_eval_dataloader
                get_test_dataloader log _prepare_inputs _save_checkpoint _inner_training_loop evaluate
                """
            ),
        }
    ),
    training_hooks=frozenset({"compute_loss"}),  # also called while evaluating
    methods=dict.fromkeys(("train", "evaluate", "predict", "hyperparameter_search", "step"), LOOP),
    owns_mode=True,
    owns_gradients=True,
)
