"""Tells ten sorts of small pictures apart, with a class that trains."""

import argparse
import copy

import mlflow
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


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


class Trainer:
    def __init__(self, path, batch_size=64, epochs=20):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.epochs = epochs
        augmented = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
        plain = transforms.Compose([transforms.ToTensor()])
        train_set = datasets.CIFAR10("data", train=True, download=True, transform=augmented)
        test_set = datasets.CIFAR10("data", train=False, transform=plain)  #: test-set
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)  #: train-loader
        self.test_loader = DataLoader(test_set, batch_size=batch_size)  #: test-loader
        self.model = PictureNet().to(self.device)
        previous = torch.load(path, weights_only=True)  #: load
        self.criterion = nn.CrossEntropyLoss()  #: criterion
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)  #: optimizer
        self.scheduler = optim.lr_scheduler.StepLR(self.optimizer, step_size=5)  #: scheduler
        self.history = []
        self.best, self.best_correct = copy.deepcopy(self.model.state_dict()), previous["correct"]

    def fit(self):
        for epoch in range(self.epochs):
            loss = self.train_epoch()  #: epoch
            self.scheduler.step()  #: schedule
            correct = self.evaluate()
            if correct > self.best_correct:
                self.best_correct = correct
                self.best = copy.deepcopy(self.model.state_dict())  #: best
            print(f"epoch {epoch}: loss {loss:.3f}, correct {correct}")
        torch.save(self.best, "best.pt")
        torch.save(self.model.state_dict(), "last.pt")  #: save

    def train_epoch(self):
        self.model.train()  #: train-mode
        running_loss = 0.0
        for images, labels in self.train_loader:
            images = images.to(self.device)  #: moved
            labels = labels.to(self.device)
            self.optimizer.zero_grad()  #: zero-grad
            outputs = self.model(images)  #: forward
            entropy = -(F.softmax(outputs, dim=1) * F.log_softmax(outputs, dim=1)).sum(dim=1).mean()  #: entropy
            loss = self.criterion(outputs, labels) - 0.1 * entropy  #: loss
            loss.backward()  #: backward
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  #: clip
            self.optimizer.step()  #: step
            running_loss += loss.item()  #: running
            self.history.append(loss.item())  #: history
            mlflow.log_metric("loss", loss.item())  #: logged
        return running_loss / len(self.train_loader)

    def evaluate(self):
        self.model.eval()  #: eval-mode
        correct = 0
        with torch.no_grad():  #: no-grad
            for images, labels in self.test_loader:
                images = images.to(self.device)
                labels = labels.to(self.device)
                outputs = self.model(images)  #: scored
                correct += (outputs.argmax(dim=1) == labels).sum().item()  #: correct
        return correct


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("previous")
    torch.manual_seed(0)
    Trainer(parser.parse_args().previous).fit()
