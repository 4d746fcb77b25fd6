"""Optimizers and schedulers that come in packages of their own."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, Package
from torch_doctor.static.tables import words

LIBRARY = Library(
    packages={"torch_optimizer": Package(), "pytorch_optimizer": Package(), "bitsandbytes.optim": Package()},
    optimizers=words(
        """
        lion_pytorch.Lion lion_pytorch.lion_pytorch.Lion adabelief_pytorch.AdaBelief adabound.AdaBound adamp.AdamP
        adamp.SGDP adan_pytorch.Adan adan_pytorch.adan.Adan came_pytorch.CAME galore_torch.GaLoreAdamW
        galore_torch.GaLoreAdamW8bit galore_torch.GaLoreAdafactor madgrad.MADGRAD madgrad.MirrorMADGRAD
        prodigyopt.Prodigy pytorch_lamb.Lamb radam.RAdam ranger.Ranger ranger21.Ranger21 mup.MuAdam mup.MuAdamW
        mup.MuSGD geoopt.optim.RiemannianAdam geoopt.optim.RiemannianSGD geoopt.RiemannianAdam geoopt.RiemannianSGD
        """
    ),
    optimizer_packages=words(
        """
        torch_optimizer. pytorch_optimizer. bitsandbytes.optim. dadaptation. schedulefree. optimi. heavyball.
        torchao.optim. colossalai.nn.optimizer.
        """
    ),
    no_optimizers=words("bitsandbytes.optim.GlobalOptimManager torch_optimizer.Lookahead pytorch_optimizer.Lookahead"),
    optimizer_wrappers={"torch_optimizer.Lookahead": 0, "pytorch_optimizer.Lookahead": 0},
    schedulers=words("warmup_scheduler.GradualWarmupScheduler cosine_annealing_warmup.CosineAnnealingWarmupRestarts"),
    scheduler_packages=("pytorch_warmup.",),
)
