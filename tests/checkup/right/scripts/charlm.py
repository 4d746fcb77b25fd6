"""A character language model: a small transformer on a text that is made up from a few words."""

import math
import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1337)
random.seed(1337)
words = "the cat sat on a mat and saw one dog run to its den".split()
text = " ".join(random.choice(words) for _ in range(4000))
chars = sorted(set(text))
stoi = {char: index for index, char in enumerate(chars)}
data = torch.tensor([stoi[char] for char in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]
block_size, batch_size, width = 16, 16, 32


def get_batch(source):
    starts = torch.randint(len(source) - block_size - 1, (batch_size,))
    x = torch.stack([source[start : start + block_size] for start in starts])
    y = torch.stack([source[start + 1 : start + block_size + 1] for start in starts])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (each.view(batch, length, 4, -1).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(len(chars), width)
        self.places = nn.Embedding(block_size, width)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(chars))

    def forward(self, x, y=None):
        hidden = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
        logits = self.head(self.norm(self.blocks(hidden)))
        loss = None if y is None else F.cross_entropy(logits.flatten(0, 1), y.flatten())
        return logits, loss


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
steps, warmup = 200, 20
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min(1, (step + 1) / warmup) * 0.5 * (1 + math.cos(math.pi * step / steps))
)


@torch.no_grad()
def estimate_loss():
    model.eval()
    losses = {}
    for name, source in {"train": train_data, "val": val_data}.items():
        losses[name] = sum(model(*get_batch(source))[1].item() for _ in range(10)) / 10
    model.train()
    return losses


model.train()
for step in range(steps):
    x, y = get_batch(train_data)
    _, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if (step + 1) % 100 == 0:
        losses = estimate_loss()
        print(f"step {step + 1}: train {losses['train']:.3f}, val {losses['val']:.3f}")
        torch.save(
            {
                "step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "rng": torch.get_rng_state(), "stoi": stoi,
            },
            "gpt.pt",
        )
