"""Blob, also known as Oh Hell: a trick-taking game with bids and hidden hands.

Three to eight seats. In every round each seat gets some cards and bids how many tricks it will
take; it scores `10 + bid` if it takes exactly as many, and nothing otherwise. The dealer bids last
and must not make the bids add up to the number of tricks. Players must follow suit; the highest
trump, or else the highest card of the suit that was led, takes the trick, and its player leads
next.

- An *action* is a card, 0 to 51 (`suit * 13 + rank`; suits ♠ ♥ ♣ ♦, ranks 2 to ace), or a bid, 52
  to 65 (52 bids zero).
- An *observation* is float32 of shape `(1338,)`, from the view of the seat to move
  (`crates/sylvan-games/src/blob/encoding.rs` lists its cells).
- A round pays each seat its *utility*: its points divided by the maximum of the round,
  minus `rivalry` times the others' mean. The last round pays it as the return, earlier rounds as
  rewards. `points` has the points themselves.

**Deals.** With a seed, the default, every round is dealt from it as soon as it begins. With
`seed=None` chance nodes deal, card by card from the dealer's left, or the caller does with `deal`.

**Views.** `observe(seat)` returns an object of the same class without the cards that the seat
cannot see; its `sample(rng)` draws a deal, uniformly from all that fit. A view ends with its round,
so a search from it cannot see later deals. Moves can be applied to a view, so that it follows a
game dealt elsewhere: see `enter`.

The rules are in Rust (`sylvan._native`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sylvan import _native
from sylvan.errors import ConfigError, IllegalPosition, SylvanError
from sylvan.games.game import Game

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FIRST_BID", "SUITS", "Blob", "card_code", "card_name"]

FIRST_BID = 52
"""The action that bids zero; a bid of `b` is `FIRST_BID + b`."""

SUITS = "♠♥♣♦"
UNIFORM = (1, 1.0, 1.0)
"""Belief settings that make all deals that fit a view equally likely."""

_RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")


class Blob(_native.Blob, Game):
    """A game, a single round, or a seat's view of it.

    :param players: 3 to 8.
    :param cards: dealt to each seat in the longest rounds; 1 to 13, `players * cards` at most 52.
    :param sequence: the rounds: `down_up` (from `cards` to 2, a one-card round per player, and up
        again), `down_up_once`, `up_down`, `down`, `up`, `single`, or a list of cards per round.
    :param trump: `rotation` (♠ ♥ ♣ ♦ none by round), `turned_up`, `none`, or a suit: `"hearts"`.
    :param hook: `dealer`, `off`, or `off_in_last` (round).
    :param scoring: `exact_10_plus_bid`, `tricks_plus_10`, `tricks_plus_5`, `square`,
        `minus_missed`.
    :param suits: number of suits in the deck, 1 to 4.
    :param ranks: number of ranks per suit, from the lowest.
    :param dealer: dealer of the first round; the next seat deals the next round.
    :param break_trump: trump may be led only after one was played, or from a hand of trumps only.
    :param rivalry: 0 plays for own points, 1 for points above the others' mean.
    :param legacy_extra_one_card_round: add a one-card round to `down_up`, as an early program
        did.
    :param seed: seed of all deals; None leaves them to chance or to the caller.
    :raises ConfigError: an option is out of range or contradicts another.

    >>> game = Blob(players=3, cards=2, seed=4)
    >>> print(game)
    Round 1 of 5: 2 cards, trump ♠, dealer seat 0
      seat 0   5♠ K♠
    > seat 1   10♠ K♣
      seat 2   10♣ 6♦
    >>> game.bid(1, 2)
    >>> game.bid(2, 0)
    >>> game.bid(0, 0)
    Traceback (most recent call last):
    sylvan.errors.IllegalBid: Seat 0 cannot bid 0: it deals, and the bids must not add up ...
    >>> game.legal_actions()
    [53, 54]
    """

    __slots__ = ()

    num_actions = 66
    zero_sum = False
    default_evaluator = "card_counter"
    native_views = True

    @property
    def network_seats(self) -> int:
        """Eight: one network serves all numbers of players."""
        return 8

    @property
    def network_range(self) -> tuple[float, float]:
        """A network predicts each seat's points divided by the round's maximum, before
        `rivalry`.
        """
        infinite = (-float("inf"), float("inf"))
        return infinite if self.scoring in ("square", "minus_missed") else (0.0, 1.0)

    def seat_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Convert shares of points `[B, num_players]` to utilities: minus `rivalry` times the
        others' mean.
        """
        if not self.rivalry:
            return values
        others = (values.sum(axis=1, keepdims=True) - values) / (self.num_players - 1)
        paid: NDArray[Any] = values - values.dtype.type(self.rivalry) * others
        return paid

    @property
    def scoring(self) -> str:
        """The name of the scoring rule."""
        return self.rule_names()[2]

    @property
    def rivalry(self) -> float:
        """0: a seat plays for its own points; 1: for its points above the others' mean."""
        return self.rule_names()[5]

    @classmethod
    def oh_hell(cls, players: int = 3, cards: int = 5, dealer: int = 0, **options: Any) -> Self:
        """Make a single round with the rules of OpenSpiel's `oh_hell`: a card is turned up for
        trump, each trick scores a point, an exact bid 10 more.

        :raises ConfigError: no card is left to turn up.
        """
        given = {"sequence": "single", "trump": "turned_up", "scoring": "tricks_plus_10", **options}
        game = cls(players, cards, dealer=dealer, **given)
        if players * cards >= game.suits * game.ranks:
            raise ConfigError(
                f"cards is {cards}: {players} players get all {game.suits * game.ranks} cards, and "
                "none is left to turn up for trump; deal fewer."
            )
        return game

    def deal(
        self,
        hands: Sequence[Sequence[int | str]] | None = None,
        turned_up: int | str | None = None,
        *,
        seed: int = 0,
    ) -> None:
        """Deal the next round.

        :param hands: the cards of each seat, by code or name; None shuffles.
        :param turned_up: the card that determines trump, in rounds that turn one up.
        :raises IllegalPosition: a duplicate card, a card not in the deck, or a wrong hand size.
        :raises WrongPhase: the round is dealt already.

        >>> game = Blob(players=3, cards=1, seed=None)
        >>> game.deal([["A♠"], ["2h"], ["KC"]])
        >>> game.bid(1, 0), game.bid(2, 0), game.legal_actions()
        (None, None, [52])
        """
        if hands is None:
            self.shuffle(_native.Rng(seed))
        else:
            self.deal_hands([_codes(hand) for hand in hands], _code(turned_up))

    def enter(
        self, seat: int, hand: Sequence[int | str], turned_up: int | str | None = None
    ) -> Self:
        """Return a seat's view of a round dealt elsewhere, from its hand.

        :raises IllegalPosition: a duplicate card, a card not in the deck, or a wrong hand size.
        :raises WrongPhase: the round is dealt already: make the game with `seed=None`.

        >>> view = Blob(players=3, cards=2, seed=None).enter(0, ["AS", "10H"])
        >>> view.bid(1, 0), view.bid(2, 1), view.bid(0, 2)
        (None, None, None)
        >>> view.play(1, "10H")
        Traceback (most recent call last):
        sylvan.errors.IllegalPosition: Seat 1 cannot have 10♥: seat 0 holds it.
        """
        return self.enter_hand(seat, _codes(hand), _code(turned_up))

    def sample(self, rng: _native.Rng | np.random.Generator | int) -> Self:
        """Draw a full state that fits this view: uniformly, or, after
        `with_belief(candidates, bid_noise, play_noise)`, one of `candidates` deals in proportion to
        the likelihood of the others' bids and plays (`sylvan/blob/deals.py` has the formula; the
        model is the card counter).

        :param rng: a generator, Sylvan's or NumPy's, or a seed.
        :raises HiddenCards: nothing is hidden here.
        :raises IllegalPosition: no deal fits what was entered.

        >>> view = Blob(players=3, cards=2, seed=4).observe(1)
        >>> view.num_deals()
        1381800
        >>> deal = view.sample(7)
        >>> deal.hand(1) == view.hand(1), len(deal.hand(0))
        (True, 2)
        """
        if isinstance(rng, int):
            rng = _native.Rng(rng)
        elif not isinstance(rng, _native.Rng):
            rng = _native.Rng(int(rng.integers(2**63)))
        return self.sample_from(rng)

    @property
    def observer(self) -> int | None:  # type: ignore[override]
        """The seat whose view this is."""
        return self.viewer

    @property
    def is_view(self) -> bool:
        """Whether something is hidden."""
        return self.viewer is not None

    def string_to_action(self, text: str) -> int:
        """Parse the name of a legal action: `"7♥"`, `"7h"`, `"bid 2"`, or `"2"` during the bidding.

        :raises IllegalAction: no action has this name, or it is not legal here.
        """
        bid = text.strip().lower().removeprefix("bid").strip()
        if bid.isdecimal() and len(bid) < 6 and self.phase != "playing" and not self.is_chance():
            action = FIRST_BID + int(bid)
        else:
            action = _native.blob_card(text)
        self.clone().apply(action)  # raises the error that explains an illegal action
        return action

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain JSON values; `from_json` restores it."""
        trump, hook, scoring, dealer, break_trump, rivalry = self.rule_names()
        rules = {"players": self.num_players, "sequence": self.sequence, "trump": trump}
        rules |= {"hook": hook, "scoring": scoring, "suits": self.suits, "ranks": self.ranks}
        rules |= {"dealer": dealer, "break_trump": break_trump, "rivalry": rivalry}
        played: list[list[int]] = [[] for _ in range(self.num_players)]
        for seat, card in self.plays:
            played[seat].append(card)
        shown = range(self.num_players) if self.viewer is None else [self.viewer]
        over = self.last_points if self.is_terminal() else [0] * self.num_players
        belief = {} if self.belief == UNIFORM else {"belief": list(self.belief)}
        first = (self.dealer + 1) % self.num_players
        bids = self.bids[first:] + self.bids[:first]
        return belief | {
            "rules": rules,
            "round": self.round,
            "points": [all_ - last for all_, last in zip(self.points, over, strict=True)],
            "seed": self.seed,
            "ends_with_round": self.ends_with_round,
            "viewer": self.viewer,
            "hands": {str(seat): sorted(self.hand(seat) + played[seat]) for seat in shown},
            "turned_up": self.turned_up,
            "dealt": not self.is_chance(),
            "bids": [bid for bid in bids if bid is not None],
            "plays": [card for _, card in self.plays],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Restore the state that `to_json` wrote.

        :raises IllegalPosition: the document has another form, or breaks the rules.
        """
        try:
            return _restored(cls, document)
        except SylvanError as error:
            raise IllegalPosition(f"Not a state of Blob: {error}") from None
        except (
            AttributeError,
            IndexError,
            KeyError,
            OverflowError,
            TypeError,
            ValueError,
        ) as error:
            raise IllegalPosition(
                f"Not a state of Blob: {type(error).__name__} {error}; give a document that "
                "to_json() made."
            ) from None

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return type(self).from_json, (self.to_json(),)

    def __str__(self) -> str:
        return "\n".join(_table(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}.from_json({self.to_json()!r})"


def card_name(code: int) -> str:
    """Return the name of a card: `"10♥"`.

    >>> card_name(12), card_name(21)
    ('A♠', '10♥')
    """
    return f"{_RANKS[code % 13]}{SUITS[code // 13]}"


def card_code(name: str) -> int:
    """Parse a card's name, rank and suit in either order: `"10♥"`, `"th"`, `"SA"`.

    :raises IllegalAction: no card has this name.

    >>> card_code("as"), card_code("♥10")
    (12, 21)
    """
    return _native.blob_card(name)


def _code(card: int | str | None) -> int | None:
    return None if card is None else _native.blob_card(card)


def _codes(cards: Sequence[int | str]) -> list[int]:
    return [_native.blob_card(card) for card in cards]


_B = TypeVar("_B", bound=Blob)


def _restored(cls: type[_B], document: Mapping[str, Any]) -> _B:
    """Restore a document's state by dealing and playing its round again, which checks every
    move.
    """
    start = cls(**document["rules"], seed=None).at_round(document["round"], document["points"])
    hands = {int(seat): list(cards) for seat, cards in document["hands"].items()}
    viewer = document["viewer"]
    if viewer is not None:
        state = start.enter(viewer, hands[viewer], document["turned_up"])
    else:
        state = start.this_round() if document["ends_with_round"] else start
        if document["dealt"]:
            state.deal([hands[seat] for seat in range(start.num_players)], document["turned_up"])
        else:
            for index in range(max(map(len, hands.values()), default=0)):
                for seat in range(start.num_players):
                    owner = (start.dealer + 1 + seat) % start.num_players
                    if index < len(hands.get(owner, [])):
                        state.apply(hands[owner][index])
        state = state.seeded(document["seed"])
    for bid in document["bids"]:
        state.bid(state.to_play(), bid)
    for card in document["plays"]:
        state.play(state.to_play(), card)
    return state.with_belief(*document.get("belief", UNIFORM))


def _table(game: Blob) -> list[str]:
    """List the lines of the text view: the round, one line per seat, the current trick."""
    rounds = len(game.sequence)
    trump = "none" if game.trump is None else SUITS[game.trump]
    if game.turned_up is not None:
        trump += f" ({card_name(game.turned_up)} turned up)"
    cards = f"{game.cards} card{'s' if game.cards > 1 else ''}"
    lines = [
        f"Round {game.round + 1} of {rounds}: {cards}, trump {trump}, dealer seat {game.dealer}"
    ]
    for seat in range(game.num_players):
        hidden = game.viewer not in (None, seat)
        hand = (
            " ".join(["?"] * game.hand_sizes[seat])
            if hidden
            else " ".join(map(card_name, game.hand(seat)))
        )
        mark = ">" if seat == game.to_play() and not game.is_terminal() else " "
        bid = game.bids[seat]
        score = "" if bid is None else f"   bid {bid}, took {game.tricks[seat]}"
        voids = "".join(SUITS[suit] for suit in game.voids[seat])
        lacks = f"   no {voids}" if voids else ""
        lines.append(f"{mark} seat {seat}   {hand}{score}{lacks}".rstrip())
    if game.trick:
        fallen = ", ".join(f"seat {seat} {card_name(card)}" for seat, card in game.trick)
        lines.append(f"Trick: {fallen}")
    if any(game.points):
        lines.append(f"Points: {' '.join(map(str, game.points))}")
    return lines
