"""Exact models of games, to test the code around models."""

import numpy as np

from sylvan.games import Game


class ExactModel:
    """The rules of a game as a model; values start with the seat to move.

    A hidden state is the number of a position; after the end states and rewards stay 0.

    :param values: function from a position to values per seat; default: zeros.
    """

    def __init__(self, states, values=None):
        self.positions = []
        self.roots = {np.asarray(state.observation()).tobytes(): state for state in states}
        self.values = values or (lambda position: [0.0] * position.num_players)

    def initial_inference(self, observations):
        roots = [self.roots[row.tobytes()].clone() for row in np.asarray(observations)]
        return self.output(roots, [[0.0] * root.num_players for root in roots])

    def recurrent_inference(self, hidden, actions):
        positions, rewards = [], []
        for (number,), action in zip(hidden, actions, strict=True):
            position = self.positions[number].clone()
            paid, mover = np.zeros(position.num_players), 0
            if not position.is_terminal() and action in position.legal_actions():
                mover = position.to_play()
                position.apply(int(action))
                paid += position.rewards()
                if position.is_terminal():
                    paid += position.returns()
            positions.append(position)
            rewards.append(np.roll(paid, -mover))
        return self.output(positions, rewards)

    def output(self, positions, rewards):
        hidden = np.arange(len(self.positions), len(self.positions) + len(positions))[:, None]
        self.positions += positions
        answers = [self.evaluated(position) for position in positions]
        values, logits = (np.array(column) for column in zip(*answers, strict=True))
        return values, np.array(rewards), logits.astype(np.float32), hidden

    def evaluated(self, position):
        seats = position.num_players
        if position.is_terminal():
            return np.zeros(seats), np.zeros(position.num_actions)
        logits = np.full(position.num_actions, -np.inf)
        logits[list(position.legal_actions())] = 0.0
        return np.roll(self.values(position), -position.to_play()), logits


class Corridor(Game):
    """One seat, six cells: action 1 goes right, 0 left; a step costs 0.1, the right end gives 1."""

    num_players, num_actions = 1, 2
    zero_sum = False
    value_range = (-float("inf"), float("inf"))

    def __init__(self, cell=2):
        self.cell, self.paid = cell, 0.0

    def legal_actions(self):
        return range(2)

    def apply(self, action):
        self.cell += 2 * action - 1
        self.paid = 1.0 if self.cell == 5 else -0.1

    def clone(self):
        other = Corridor(self.cell)
        other.paid = self.paid
        return other

    def to_play(self):
        return 0

    def is_terminal(self):
        return self.cell in (0, 5)

    def returns(self):
        return (0.0,)

    def rewards(self):
        return (self.paid,)

    def observation(self):
        return np.array([self.cell], np.float32)
