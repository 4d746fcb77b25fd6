"""A GAN that learns a ring of points."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
latent = 8


def ring(count):
    angle = 2 * math.pi * torch.rand(count)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(count, 2)


loader = DataLoader(TensorDataset(ring(1024)), batch_size=64, shuffle=True, drop_last=True)
generator = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
discriminator = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
)
criterion = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
fixed_noise = torch.randn(256, latent)

for epoch in range(20):
    generator.train()
    discriminator.train()
    for (real,) in loader:
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)

        opt_d.zero_grad()
        fake = generator(torch.randn(len(real), latent))
        loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
        loss_d.backward()
        opt_d.step()

        opt_g.zero_grad()
        loss_g = criterion(discriminator(fake), ones)
        loss_g.backward()
        opt_g.step()
    generator.eval()
    with torch.no_grad():
        radius = generator(fixed_noise).norm(dim=1)
    print(f"epoch {epoch}: D {loss_d.item():.3f}, G {loss_g.item():.3f}, radius {radius.mean():.3f}")
    torch.save(
        {
            "epoch": epoch,
            "generator": generator.state_dict(),
            "discriminator": discriminator.state_dict(),
            "opt_g": opt_g.state_dict(),
            "opt_d": opt_d.state_dict(),
        },
        "gan.pt",
    )
