"""Tells ten sorts of small pictures apart, in one script without functions."""

import argparse
import copy

import mlflow
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument("previous")
arguments = parser.parse_args()

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
augmented = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
plain = transforms.Compose([transforms.ToTensor()])
train_set = datasets.CIFAR10("data", train=True, download=True, transform=augmented)
test_set = datasets.CIFAR10("data", train=False, transform=plain)  #: test-set
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)  #: train-loader
test_loader = DataLoader(test_set, batch_size=64)  #: test-loader


class PictureNet(nn.Module):
    def __init__(self, width=64, classes=10):  #: init
        super().__init__()  #: super
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.blocks = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])  #: blocks
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(width, classes)  #: head
        self.register_buffer("scale", torch.full((width, 1, 1), 2.0))  #: scale

    def forward(self, images):
        x = F.relu(self.norm(self.stem(images)))
        offset = torch.full((x.shape[1], 1, 1), 0.1, device=x.device)  #: offset
        x = x * self.scale + offset
        for block in self.blocks:
            x = x + F.relu(block(x))
        x = F.dropout(x, 0.1, training=self.training)  #: functional-dropout
        x = self.dropout(x.mean(dim=(2, 3)))  #: pooled
        return self.head(x)  #: output


model = PictureNet().to(device)
previous = torch.load(arguments.previous, weights_only=True)  #: load
criterion = nn.CrossEntropyLoss()  #: criterion
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)  #: optimizer
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5)  #: scheduler
history = []
best, best_correct = copy.deepcopy(model.state_dict()), previous["correct"]

for epoch in range(20):
    model.train()  #: train-mode epoch
    running_loss = 0.0
    for images, labels in train_loader:
        images = images.to(device)  #: moved
        labels = labels.to(device)
        optimizer.zero_grad()  #: zero-grad
        outputs = model(images)  #: forward
        entropy = -(F.softmax(outputs, dim=1) * F.log_softmax(outputs, dim=1)).sum(dim=1).mean()  #: entropy
        loss = criterion(outputs, labels) - 0.1 * entropy  #: loss
        loss.backward()  #: backward
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: clip
        optimizer.step()  #: step
        running_loss += loss.item()  #: running
        history.append(loss.item())  #: history
        mlflow.log_metric("loss", loss.item())  #: logged
    scheduler.step()  #: schedule

    model.eval()  #: eval-mode
    correct = 0
    with torch.no_grad():  #: no-grad
        for images, labels in test_loader:
            images = images.to(device)
            labels = labels.to(device)
            outputs = model(images)  #: scored
            correct += (outputs.argmax(dim=1) == labels).sum().item()  #: correct
    if correct > best_correct:
        best_correct = correct
        best = copy.deepcopy(model.state_dict())  #: best
    print(f"epoch {epoch}: loss {running_loss / len(train_loader):.3f}, correct {correct}")

torch.save(best, "best.pt")
torch.save(model.state_dict(), "last.pt")  #: save
