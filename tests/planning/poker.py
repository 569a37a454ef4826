"""Poker against fixed opponents, and the exact best response by enumeration.

`BestResponse` is a game for one seat of an OpenSpiel game: the others follow a policy and so become
chance. What the seat does not see is drawn as likely as the others' play so far makes it.
"""

from __future__ import annotations

from collections import defaultdict

from sylvan import Game
from sylvan._native import mix


def policy_of(seed: int):
    """A policy that a seed fixes: probabilities of the legal actions, by what a seat knows."""

    def policy(state) -> dict[int, float]:
        seen = state.information_state_string(state.current_player())
        key = seed
        for letter in seen:
            key = mix(key, ord(letter))
        weights = {action: 1 + mix(key, action) % 5 for action in state.legal_actions()}
        total = sum(weights.values())
        return {action: weight / total for action, weight in weights.items()}

    return policy


class BestResponse(Game):
    """The best response of one seat if the others follow a policy."""

    num_players, zero_sum = 1, False

    def __init__(self, game, seat, policy) -> None:
        self.game, self.seat, self.policy = game.clone(), seat, policy
        self.num_actions, self.value_range = game.num_actions, game.value_range

    def clone(self):
        copy = BestResponse.__new__(BestResponse)
        copy.__dict__.update(self.__dict__)
        copy.game = self.game.clone()
        return copy

    def is_terminal(self):
        return self.game.is_terminal()

    def is_chance(self):
        if self.is_terminal():
            return False
        return self.game.is_chance() or self.game.to_play() != self.seat

    def chance_outcomes(self):
        if self.game.is_chance():
            return self.game.chance_outcomes()
        return list(self.policy(self.game._state).items())

    def to_play(self):
        return 0

    def legal_actions(self):
        return [] if self.is_terminal() or self.is_chance() else self.game.legal_actions()

    def apply(self, action):
        self.game.apply(action)

    def returns(self):
        return (self.game.returns()[self.seat],)

    def observation(self):
        return self.game.observation()

    def observe(self, seat):
        view = self.clone()
        view.game, view.observer = self.game.observe(self.seat), seat
        return view

    def sample(self, rng):
        deal = self.clone()
        deal.observer = None
        while True:  # rejection: each deal as often as the others would have played like this
            deal.game = self.game.sample(rng)
            if rng.uniform() < self.likelihood(deal.game._state):
                return deal

    def likelihood(self, end) -> float:
        """The probability of what the others did, by their policy."""
        state, chance = self.game.spiel.new_initial_state(), 1.0
        for action in end.history():
            if not state.is_chance_node() and state.current_player() != self.seat:
                chance *= self.policy(state)[action]
            state.apply_action(action)
        return chance


def expected(states, seat, policy) -> float:
    """The value of weighted states of one information set, or of none, if the seat plays best."""
    total, sets = 0.0, defaultdict(list)
    stack = list(states)
    while stack:
        weight, state = stack.pop()
        if state.is_terminal():
            total += weight * state.returns()[seat]
        elif not state.is_chance_node() and state.current_player() == seat:
            sets[state.information_state_string(seat)].append((weight, state))
        else:
            chance = state.is_chance_node()
            odds = state.chance_outcomes() if chance else policy(state).items()
            stack += [(weight * p, state.child(action)) for action, p in odds]
    return total + sum(max(of_actions(each, seat, policy).values()) for each in sets.values())


def of_actions(states, seat, policy) -> dict[int, float]:
    """The value of each action in an information set, times the weight of its states."""
    actions = states[0][1].legal_actions()
    return {a: expected([(w, s.child(a)) for w, s in states], seat, policy) for a in actions}


def information_sets(spiel, seat, policy):
    """All information sets of a seat: name -> its states, weighted by chance and the others."""
    found = defaultdict(list)
    stack = [(1.0, spiel.new_initial_state())]
    while stack:
        weight, state = stack.pop()
        if state.is_terminal():
            continue
        own = not state.is_chance_node() and state.current_player() == seat
        if own:
            found[state.information_state_string(seat)].append((weight, state))
        if own:
            odds = [(action, 1.0) for action in state.legal_actions()]
        else:
            chance = state.is_chance_node()
            odds = state.chance_outcomes() if chance else policy(state).items()
        stack += [(weight * p, state.child(action)) for action, p in odds]
    return found
