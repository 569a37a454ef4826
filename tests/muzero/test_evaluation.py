"""Rating learned models in games and on solved positions, with exact models."""

from sylvan.games.naming import GameSpec
from sylvan.games.tic_tac_toe_states import tic_tac_toe_set
from sylvan.muzero.evaluation import LatentArena, learned_mistake_rates
from sylvan.ratings.arena import ArenaConfig
from tests.muzero.models import ExactModel


def test_an_exact_model_makes_few_mistakes_and_fewer_with_search():
    part = tic_tac_toe_set()
    model = ExactModel(part.states)
    few = learned_mistake_rates(model, GameSpec("tictactoe"), 100, positions=100)
    assert few["states/network"].positions == 4520 and few["states/search"].positions == 100
    assert few["states/search"].rate < 0.05 < few["states/network"].rate


def test_the_arena_of_games_plays_through_the_model():
    states = tic_tac_toe_set().states
    config = ArenaConfig(games=4, simulations=60, positions=20, yardsticks=("random",))
    arena = LatentArena(GameSpec("tictactoe"), config, 1)
    rating = arena.rate(ExactModel(states), 1)
    assert rating.scores["random"] >= 0.75
    assert rating.mistakes["states.search"] < 0.05 < rating.mistakes["states.network"]
