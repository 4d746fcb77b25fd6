"""SimCLR on vectors: two noisy views of a sample are to lie together."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Views(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def view(self, sample):
        keep = (torch.rand_like(sample) > 0.1).float()
        return (sample + 0.1 * torch.randn_like(sample)) * keep

    def __getitem__(self, index):
        sample = self.samples[index]
        return self.view(sample), self.view(sample)


class Encoder(nn.Module):
    def __init__(self, inputs=32, width=64, dimensions=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, dimensions))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def nt_xent(first, second, temperature=0.5):
    embeddings = torch.cat([first, second])
    similarity = embeddings @ embeddings.T / temperature
    similarity.fill_diagonal_(float("-inf"))
    count = len(first)
    targets = torch.cat([torch.arange(count) + count, torch.arange(count)]).to(similarity.device)
    return F.cross_entropy(similarity, targets)


class Trainer:
    def __init__(self, model, train_loader, val_loader):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for first, second in self.train_loader:
            self.optimizer.zero_grad()
            loss = nt_xent(self.model(first), self.model(second))
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        losses = [nt_xent(self.model(first), self.model(second)).item() for first, second in self.val_loader]
        return sum(losses) / len(losses)

    def fit(self, epochs):
        for epoch in range(epochs):
            print(f"epoch {epoch}: train {self.train_epoch():.3f}, val {self.validate():.3f}")
            state = {"epoch": epoch, "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save(state, "simclr.pt")


if __name__ == "__main__":
    torch.manual_seed(0)
    centres = torch.randn(40, 32) * 2
    samples = centres[torch.randint(0, 40, (640,))] + 0.3 * torch.randn(640, 32)
    train = DataLoader(Views(samples[:512]), batch_size=64, shuffle=True, drop_last=True)
    val = DataLoader(Views(samples[512:]), batch_size=64)
    Trainer(Encoder(), train, val).fit(5)
