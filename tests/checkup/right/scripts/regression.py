"""Predict the price of a house from a table whose columns have very different scales."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def houses(count):
    area = torch.empty(count).uniform_(30, 250)
    rooms = (area / 30 + torch.randn(count)).round().clamp(1)
    year = torch.randint(1900, 2024, (count,)).float()
    distance = torch.empty(count).exponential_(0.1)
    price = 3000 * area + 20000 * rooms + 500 * (year - 1900) - 4000 * distance + 2e4 * torch.randn(count)
    return torch.stack([area, rooms, year, distance], dim=1), price.unsqueeze(1)


features, prices = houses(1200)
train_x, val_x = features[:1000], features[1000:]
train_y, val_y = prices[:1000], prices[1000:]
x_mean, x_std = train_x.mean(0), train_x.std(0)
y_mean, y_std = train_y.mean(), train_y.std()
train_loader = DataLoader(
    TensorDataset((train_x - x_mean) / x_std, (train_y - y_mean) / y_std), batch_size=64, shuffle=True
)
val_loader = DataLoader(TensorDataset((val_x - x_mean) / x_std, (val_y - y_mean) / y_std), batch_size=64)

model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def evaluate():
    model.eval()
    squared, count = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            squared += ((model(x) - y) * y_std).square().sum().item()
            count += len(y)
    return (squared / count) ** 0.5


for epoch in range(10):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: RMSE {evaluate():.0f}")
    torch.save(
        {
            "epoch": epoch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scaling": {"x_mean": x_mean, "x_std": x_std, "y_mean": y_mean, "y_std": y_std},
            "rng": torch.get_rng_state(),
        },
        "houses.pt",
    )
