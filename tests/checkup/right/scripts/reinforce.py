"""REINFORCE on a corridor: the agent has to walk to the right end."""

import random

import torch
from torch import nn
from torch.distributions import Categorical


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.place, self.steps = random.randrange(self.length - 1), 0
        return self.observe()

    def observe(self):
        observation = torch.zeros(self.length)
        observation[self.place] = 1.0
        return observation

    def step(self, action):
        self.place = min(max(self.place + (1 if action == 1 else -1), 0), self.length - 1)
        self.steps += 1
        goal = self.place == self.length - 1
        return self.observe(), 1.0 if goal else -0.1, goal or self.steps >= 20


class Policy(nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, actions))

    def forward(self, observation):
        return self.net(observation)


def play(env, policy, greedy=False):
    observation, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        distribution = Categorical(logits=policy(observation))
        action = distribution.probs.argmax() if greedy else distribution.sample()
        log_probs.append(distribution.log_prob(action))
        observation, reward, done = env.step(action.item())
        rewards.append(reward)
    return log_probs, rewards


def discounted(rewards, gamma=0.99):
    returns, value = [], 0.0
    for reward in reversed(rewards):
        value = reward + gamma * value
        returns.insert(0, value)
    return torch.tensor(returns)


def main():
    random.seed(0)
    torch.manual_seed(0)
    env = Corridor()
    policy = Policy(env.length, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    baseline = 0.0
    for episode in range(300):
        log_probs, rewards = play(env, policy)
        returns = discounted(rewards)
        loss = -(torch.stack(log_probs) * (returns - baseline)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * returns[0].item()
        if (episode + 1) % 50 == 0:
            with torch.no_grad():
                scores = [sum(play(env, policy, greedy=True)[1]) for _ in range(10)]
            print(f"episode {episode + 1}: mean return {sum(scores) / len(scores):.2f}")
            torch.save(
                {
                    "episode": episode, "policy": policy.state_dict(), "optimizer": optimizer.state_dict(),
                    "baseline": baseline, "rng": torch.get_rng_state(), "python_rng": random.getstate(),
                },
                "policy.pt",
            )


if __name__ == "__main__":
    main()
