import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
lengths = torch.full((256,), 100)
tokens = torch.randint(1, 50, (256, 100))
for row, n in enumerate(lengths):
    tokens[row, n:] = 0
y = (tokens[:, 0] > 25).long()
loader = DataLoader(TensorDataset(tokens, lengths, y), batch_size=32, shuffle=True)


class CharRNN(nn.Module):
    def __init__(self, vocab_size, embed_dim=16, hidden_dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.rnn = nn.RNN(embed_dim, hidden_dim, batch_first=True)
        self.fc = nn.Linear(hidden_dim, 2)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, h = self.rnn(packed)
        return self.fc(h[-1])


model = CharRNN(50)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for xb, n, yb in loader:
        opt.zero_grad()
        loss = loss_fn(model(xb, n), yb)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
