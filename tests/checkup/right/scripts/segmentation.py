"""Segment discs in noisy pictures with a small U-Net."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Discs(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        rows, columns = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
        centre = torch.randint(4, 12, (count, 2), generator=generator)
        radius = torch.randint(3, 6, (count,), generator=generator)
        far = (rows - centre[:, 0, None, None]) ** 2 + (columns - centre[:, 1, None, None]) ** 2
        self.masks = (far < radius[:, None, None] ** 2).float().unsqueeze(1)
        self.images = self.masks + 0.5 * torch.randn(self.masks.shape, generator=generator)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return {"image": self.images[index], "mask": self.masks[index]}


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = block(1, 8)
        self.bottom = block(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.join = block(16, 8)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        skip = self.down(x)
        x = self.up(self.bottom(F.max_pool2d(skip, 2)))
        return self.head(self.join(torch.cat([skip, x], dim=1)))


def dice_loss(logits, masks):
    shares = torch.sigmoid(logits)
    shared = (shares * masks).sum((1, 2, 3))
    return 1 - ((2 * shared + 1) / (shares.sum((1, 2, 3)) + masks.sum((1, 2, 3)) + 1)).mean()


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader = DataLoader(Discs(256, 1), batch_size=32, shuffle=True, drop_last=True)
    val_loader = DataLoader(Discs(64, 2), batch_size=32)
    model = UNet().to(device)
    bce = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(8):
        model.train()
        for batch in train_loader:
            images, masks = batch["image"].to(device), batch["mask"].to(device)
            optimizer.zero_grad(set_to_none=True)
            logits = model(images)
            loss = bce(logits, masks) + dice_loss(logits, masks)
            loss.backward()
            optimizer.step()
        model.eval()
        intersection = union = 0.0
        with torch.inference_mode():
            for batch in val_loader:
                images, masks = batch["image"].to(device), batch["mask"].to(device)
                predicted = model(images) > 0
                intersection += (predicted & (masks > 0.5)).sum().item()
                union += (predicted | (masks > 0.5)).sum().item()
        print(f"epoch {epoch}: IoU {intersection / union:.3f}")
        torch.save(
            {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, "unet.pt"
        )


if __name__ == "__main__":
    main()
