"""Classify small pictures of bars by their direction."""

import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def draw(label, generator):
    image = torch.rand(1, 16, 16, generator=generator) * 0.3
    place = int(torch.randint(3, 13, (1,), generator=generator))
    if label == 0:
        image[0, place - 1 : place + 1] += 0.7
    elif label == 1:
        image[0, :, place - 1 : place + 1] += 0.7
    else:
        image[0] += 0.7 * torch.eye(16)
    return image


class Bars(Dataset):
    def __init__(self, count, seed, augment):
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (count,), generator=generator)
        self.images = torch.stack([draw(int(label), generator) for label in self.labels])
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = (self.images[index] - 0.25) / 0.3
        if self.augment:
            if torch.rand(()) < 0.5:
                image = image.flip(1, 2)
            image = image + 0.05 * torch.randn_like(image)
        return image, self.labels[index]


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 4 * 4, 3))

    def forward(self, images):
        return self.head(self.features(images))


train_loader = DataLoader(Bars(512, 1, augment=True), batch_size=32, shuffle=True)
val_loader = DataLoader(Bars(128, 2, augment=False), batch_size=64)
model = ConvNet().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
best = 0.0
for epoch in range(5):
    model.train()
    running = 0.0
    for images, labels in train_loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(labels)
    scheduler.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in val_loader:
            images, labels = images.to(device), labels.to(device)
            correct += (model(images).argmax(1) == labels).sum().item()
    accuracy = correct / len(val_loader.dataset)
    print(f"epoch {epoch}: loss {running / len(train_loader.dataset):.3f}, accuracy {accuracy:.3f}")
    state = {
        "epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(), "best": best, "rng": torch.get_rng_state(),
    }
    torch.save(state, "last.pt")
    if accuracy > best:
        best = accuracy
        torch.save(state, "best.pt")
