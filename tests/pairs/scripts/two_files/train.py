"""Tells ten sorts of small pictures apart, with a network that another file has."""

import argparse
import copy

import mlflow
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

from network import PictureNet


def make_loaders(batch_size):
    augmented = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    plain = transforms.Compose([transforms.ToTensor()])
    train_set = datasets.CIFAR10("data", train=True, download=True, transform=augmented)
    test_set = datasets.CIFAR10("data", train=False, transform=plain)  #: test-set
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)  #: train-loader
    test_loader = DataLoader(test_set, batch_size=batch_size)  #: test-loader
    return train_loader, test_loader


def train_one_epoch(model, loader, criterion, optimizer, device, history):
    model.train()  #: train-mode
    running_loss = 0.0
    for images, labels in loader:
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
    return running_loss / len(loader)


@torch.no_grad()  #: no-grad
def evaluate(model, loader, device):
    model.eval()  #: eval-mode
    correct = 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        outputs = model(images)  #: scored
        correct += (outputs.argmax(dim=1) == labels).sum().item()  #: correct
    return correct


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("previous")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, test_loader = make_loaders(64)
    model = PictureNet().to(device)
    previous = torch.load(arguments.previous, weights_only=True)  #: load
    criterion = nn.CrossEntropyLoss()  #: criterion
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)  #: optimizer
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5)  #: scheduler
    history = []
    best, best_correct = copy.deepcopy(model.state_dict()), previous["correct"]
    for epoch in range(20):
        loss = train_one_epoch(model, train_loader, criterion, optimizer, device, history)  #: epoch
        scheduler.step()  #: schedule
        correct = evaluate(model, test_loader, device)
        if correct > best_correct:
            best_correct = correct
            best = copy.deepcopy(model.state_dict())  #: best
        print(f"epoch {epoch}: loss {loss:.3f}, correct {correct}")
    torch.save(best, "best.pt")
    torch.save(model.state_dict(), "last.pt")  #: save


if __name__ == "__main__":
    main()
