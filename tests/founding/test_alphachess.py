"""The document `alphachess`: its ids, and its mistakes in the formula and in the engine."""

import io
import math
import re
import subprocess
import sys
from collections import Counter

import chess
import chess.pgn
import numpy as np
import pytest

from sylvan import SearchConfig
from sylvan.classic.alphachess import (
    AlphaChess,
    Config,
    EdgeStatistics,
    play_human,
    self_play,
    statistics,
)
from sylvan.errors import ConfigError, GameOver
from sylvan.games import Chess
from sylvan.games.chess import expand_planes
from sylvan.games.encoding import Encoding
from tests.founding.oracles import THREE_MOVES, hashed, plain_search, planes18
from tests.founding.quotes import quote
from tests.games.chess_oracles import az73_code as code

MIDDLE_GAME = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"
PLAIN = {"fpu": "zero", "proofs": False, "prior_bits": 32}


class Hashed:
    """An evaluator that is random, but fixed by what it sees."""

    encoding = Encoding("planes18")

    def __init__(self):
        self.seen = []

    def __call__(self, leaves):
        boards = expand_planes(leaves.observations, "planes18").transpose(0, 2, 3, 1)
        self.seen += [np.ascontiguousarray(board).tobytes() for board in boards]
        policies, values = zip(*map(hashed, boards), strict=True)
        return np.log(np.stack(policies)), np.array(values, np.float32)


def fixed(priors, value=0.0):
    """An evaluator with the same priors everywhere, by UCI of White's moves, else even."""
    codes = {code(chess.Move.from_uci(uci), chess.WHITE): p for uci, p in priors.items()}

    def evaluate(leaves):
        policy = [codes.get(int(action), 1 / 3) for action in leaves.actions]
        return np.log(policy).astype(np.float32), np.full(len(leaves), value, np.float32)

    return evaluate


def visits(result):
    return {uci: edge.N for uci, edge in statistics(result).items()}


# --- what the document asks for -----------------------------------------------------------------


def test_s1_1_every_edge_has_n_w_q_p():
    assert set(re.findall(r"`([A-Z])\(s, a\)`", statistics_text())) == set(EdgeStatistics._fields)
    result = AlphaChess(Hashed(), Config(simulations_per_move=100, other=PLAIN)).search(Chess())
    edges = statistics(result)
    assert set(edges) == {move.uci() for move in chess.Board().legal_moves}
    assert sum(edge.N for edge in edges.values()) == 100
    assert sum(edge.P for edge in edges.values()) == pytest.approx(1, abs=1e-5)
    for edge in edges.values():
        assert math.isnan(edge.Q) if edge.N == 0 else edge.Q == edge.W / edge.N
    # The same below the root: a node is a position, an edge a legal move.
    child = result.tree.root.edges[0].child
    assert {child.state.action_to_string(edge.action) for edge in child.edges} == {
        move.uci() for move in chess.Board(child.state.fen()).legal_moves
    }


def statistics_text():
    from tests.founding.quotes import DOCUMENTS

    return (DOCUMENTS / "alphachess.md").read_text()


@pytest.mark.parametrize("fen", [chess.STARTING_FEN, MIDDLE_GAME, MATE_IN_ONE])
def test_s1_2_the_four_phases_are_those_of_the_algorithm_in_the_fewest_words(fen):
    evaluator = Hashed()
    config = Config(simulations_per_move=149, c_puct=2.0, other=PLAIN)
    result = AlphaChess(evaluator, config).search(Chess(fen))
    plain = plain_search(chess.Board(fen), hashed, 150, 2.0)
    assert visits(result) == {move.uci(): node.visits for move, node in plain.children.items()}
    for uci, edge in statistics(result).items():
        assert edge.W == pytest.approx(-plain.children[chess.Move.from_uci(uci)].total, abs=1e-5)


def test_s1_2_finished_games_are_not_expanded():
    evaluator = Hashed()
    result = AlphaChess(evaluator, Config(simulations_per_move=200, other=PLAIN)).search(
        Chess(MATE_IN_ONE)
    )
    mate = result.tree.root.edge(result.game.string_to_action("a1a8"))
    assert mate.N > 20 and mate.Q == 1.0 and mate.child.kind == "terminal"
    board = chess.Board(MATE_IN_ONE)
    board.push_uci("a1a8")
    assert planes18(board).tobytes() not in evaluator.seen


def test_s1_3_noise_in_self_play_only():
    config = Config(simulations_per_move=20)
    clean = AlphaChess(Hashed(), config).search(Chess())
    noisy = AlphaChess(Hashed(), config, self_play=True).search(Chess())
    before, after = (
        np.array([edge.P for edge in sorted(r.tree.root.edges, key=lambda edge: edge.action)])
        for r in (clean, noisy)
    )
    eta = (after - 0.75 * before) / 0.25
    assert eta.min() > -1e-5 and eta.sum() == pytest.approx(1, abs=1e-4) and np.ptp(eta) > 0.05


@pytest.mark.parametrize("n", [0, 1, 37])
def test_s1_4_simulations_per_move(n):
    result = AlphaChess(Hashed(), Config(simulations_per_move=n)).search(Chess())
    assert result.simulations == n and result.tree.root.N == n + 1
    assert result.stopped_by == "simulations"


def test_s1_5_the_bound_is_16_gb_unless_told_otherwise():
    assert Config().search_config().bytes == 16 * 2**30
    with pytest.raises(ConfigError, match="max_bytes is 5"):
        Config(max_bytes=5)


def test_s1_5_a_small_bound_holds_while_the_search_goes_on():
    budget, seen = 2 * 2**20, []
    config = Config(simulations_per_move=300_000, max_depth=None, max_bytes=budget)
    engine = AlphaChess("hash_random", config)
    result = engine._search.run(
        Chess(), progress=lambda status: seen.append(engine.result.bytes) and None
    )
    assert result.stopped_by == "simulations" and result.simulations == 300_000
    assert max([*seen, result.bytes]) <= budget * (1 + 1 / 32)
    assert sum(edge.N for edge in statistics(result).values()) == 300_000  # none forgotten
    assert result.nodes < 150_000


LONG = """
import resource
from sylvan.classic.alphachess import AlphaChess, Config
from sylvan.games import Chess

def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

config = Config(simulations_per_move=300_000, max_depth=None, max_bytes={budget})
AlphaChess("hash_random", Config(simulations_per_move=1000)).search(Chess())
before = resident()
game = Chess()
engine = AlphaChess("hash_random", config)
for _ in range(3):  # three moves: the tree is kept, and full, from the first on
    result = engine.search(game)
    game.apply(result.best)
    assert result.stopped_by in ("simulations", "proven"), result.stopped_by
print(resident() - before, result.bytes)
"""


@pytest.mark.slow
def test_s1_5_the_process_stays_within_the_bound_in_a_long_search():
    budget = 16 * 2**20
    done = subprocess.run(
        [sys.executable, "-c", LONG.format(budget=budget)],
        capture_output=True,
        text=True,
        check=True,
    )
    grown, tree = map(int, done.stdout.split())
    assert tree <= budget * (1 + 1 / 32) and grown <= 1.1 * budget


def test_s1_21_max_depth_limits_a_line_and_not_the_search():
    """It once ended the search as soon as one line was so long."""
    forced = Chess("7k/8/8/8/8/8/r7/6K1 w - - 0 1")
    for game, depth in ((Chess(), 4), (forced, 2), (Chess(), 1)):
        config = Config(simulations_per_move=800, max_depth=depth)
        result = AlphaChess(Hashed(), config).search(game)
        assert (result.stopped_by, result.simulations, result.depth) == ("simulations", 800, depth)
    assert Config().max_depth == 40
    # The limit that ends a search has a setting of its own.
    ended = AlphaChess(Hashed(), Config(other={"depth": 4})).search(Chess())
    assert ended.stopped_by == "depth"
    assert Config.read({"max_depth": 7}).search_config().horizon == 7
    assert Config.read({"depth": 7}).search_config().depth == 7
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ConfigError, match=f"max_depth is {wrong}"):
            Config(max_depth=wrong)


def test_s1_21_max_depth_counts_from_the_root_that_the_game_has_reached():
    engine = AlphaChess(Hashed(), Config(simulations_per_move=300, max_depth=2))
    game = Chess()
    for _ in range(3):  # nodes that were too deep are expanded when the root is nearer
        engine.play(game)
        assert engine.result.depth == 2
        game.apply(engine.result.best)


def test_s1_22_the_chosen_child_becomes_the_root():
    config = Config(simulations_per_move=120, other={"proofs": False})
    engine, game = AlphaChess(Hashed(), config, self_play=True), Chess()
    kept = 0
    for _ in range(6):
        action = engine.play(game)
        assert engine.result.tree.root.N == kept + 120 + (kept == 0)
        kept = engine.result.tree.root.edge(action).N
        game.apply(action)
    # Against an opponent two plies are followed; another game starts a new tree.
    reply = engine.search(game).tree.root.edges[0]
    line = game.clone()
    line.apply(reply.action)
    second = reply.child.edges[0]
    line.apply(second.action)
    assert engine.search(line).tree.root.N == second.N + 120
    assert engine.search(Chess(MIDDLE_GAME)).tree.root.N == 121
    with pytest.raises(GameOver, match="game is over"):
        engine.search(Chess(moves="f3 e5 g4 Qh4"))


YAML = """\
# AlphaChess
mcts:
  simulations_per_move: 400   # per move
  c_puct: 2.0
  dirichlet_alpha: 0.5
self_play:
  temp_threshold: 12
  max_depth: null
  fpu: 'parent'
"""


def test_s1_24_a_file_then_the_command_line_then_keywords(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(YAML)
    config = Config.read(path, ["--c_puct=3", "dirichlet_epsilon=0.1"], simulations_per_move=50)
    assert (config.simulations_per_move, config.c_puct, config.temp_threshold) == (50, 3, 12)
    assert (config.dirichlet_alpha, config.dirichlet_epsilon, config.max_depth) == (0.5, 0.1, None)
    search = config.search_config(self_play=True)
    assert isinstance(search, SearchConfig) and (search.simulations, search.fpu) == (50, "parent")
    assert (search.noise, search.temperature) == (True, 1.0)
    assert Config.read({"mcts": {"num_simulations": 7}}).simulations_per_move == 7
    (tmp_path / "config.toml").write_text("[mcts]\nc_puct = 1.25\n")
    assert Config.read(tmp_path / "config.toml").c_puct == 1.25
    with pytest.raises(AttributeError):
        config.c_puct = 1.0


@pytest.mark.parametrize(
    ("text", "overrides", "sentence"),
    [
        ("temp_treshold: 3", [], "no setting 'temp_treshold': did you mean 'temp_threshold'"),
        ("temp_threshold: soon", [], "temp_threshold is 'soon': it must be a whole number"),
        ("c_puct: -1", [], "c_puct is -1: it must be at least 0"),
        ("- e4", [], "config.yaml holds no settings: write each as 'name: value'"),
        ("a: {b: 1", [], "config.yaml cannot be read as settings: .*line 1"),
        ("a: {c_puct: 1}\nc_puct: 2", [], "'c_puct' is set a second time in .*config.yaml"),
        ("c_puct: 1", ["c_puct"], "'c_puct' has no value: write it as name=value"),
    ],
)
def test_s1_24_what_is_no_setting(text, overrides, sentence, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=sentence):
        Config.read(path, overrides)


def test_s1_24_the_temperature_falls_at_the_threshold():
    # Even priors and values: visits differ little, so a drawn move is often not the most visited.
    config = Config(simulations_per_move=60, temp_threshold=3, seed=2)
    engine, game, drawn = AlphaChess(fixed({}), config, self_play=True), Chess(), []
    for _ in range(30):
        action = engine.play(game)
        drawn.append(action != engine.result.best)
        game.apply(action)
    assert any(drawn[:6]) and not any(drawn[6:])


def test_s1_25_self_play_statistics():
    config = Config(simulations_per_move=20, max_moves=40)
    counted = self_play("material", config, games=3)
    assert counted.games == 3 == counted.white_wins + counted.black_wins + counted.draws
    assert sum(counted.endings.values()) == 3
    games = [chess.pgn.read_game(io.StringIO(text)) for text in counted.pgns]
    lengths = [len(list(game.mainline_moves())) for game in games]
    assert counted.moves == sum(lengths) and counted.mean_length == sum(lengths) / 3
    assert not any(game.errors for game in games)
    assert len({str(game.mainline_moves()) for game in games}) == 3  # explored
    assert "3 games" in str(counted) and "simulations" in str(counted)
    again = self_play("material", config, games=3)
    assert again.pgns == counted.pgns
    won = self_play("material", Config(simulations_per_move=100), fen=MATE_IN_ONE)
    assert won.endings == Counter(checkmate=1) and (won.white_wins, won.draws) == (1, 0)
    assert '[Result "1-0"]' in won.pgns[0]


def human_game(moves, **options):
    waiting, said = iter(moves), []

    def ask(prompt):
        for move in waiting:
            return move
        raise EOFError

    session = play_human(
        "material", Config(simulations_per_move=50), ask=ask, tell=said.append, **options
    )
    return session, "\n".join(said)


def test_s1_25_a_person_plays_in_the_terminal():
    session, text = human_game(["e2e4", "Ke3", "Nf3", "resign"])
    assert session.game.moves[0] == "e2e4" and session.game.moves[2] == "g1f3"
    assert "8  r n b q k b n r" in text  # the board
    assert re.search(r"Ke3 is not legal in .*; the nearest legal moves are", text)
    assert "AlphaChess plays" in text and "You lose by resignation." in text
    assert '[Result "0-1"]' in text and "1. e4" in text
    session, text = human_game([], human="black", fen=MATE_IN_ONE)
    assert session.game.outcome == "checkmate" and "Ra8#" in text and '[Result "1-0"]' in text
    session, text = human_game(["e4"])
    assert len(session.game.moves) == 2 and "not finished" in text
    with pytest.raises(ConfigError, match="human is 'red'"):
        human_game([], human="red")


@pytest.mark.slow
def test_a_network_in_a_file_plays(tmp_path):
    from sylvan.classic.mcts_specification import ChessNN

    network = ChessNN(num_blocks=1, num_filters=8)
    network.build_model()
    path = tmp_path / "net.safetensors"
    network.save_model(str(path))
    policy, _ = network.predict(planes18(chess.Board()))
    for given in (path, str(path)):
        engine = AlphaChess(given, Config(simulations_per_move=5, other={"prior_bits": 32}))
        edges = statistics(engine.search(Chess()))
        priors = {uci: policy[code(chess.Move.from_uci(uci), chess.WHITE)] for uci in edges}
        total = sum(priors.values())
        for uci, edge in edges.items():
            assert edge.P == pytest.approx(priors[uci] / total, rel=1e-4)


# --- mistakes -----------------------------------------------------------------------------------


def test_m10_the_denominator_is_outside_the_root():
    """Priors 0.55, 0.30, 0.15, all values 0, c = 1; the first simulation takes the first.

    Then N = 2: the correct scores are 0.55 * 1.414 / 2 = 0.389 and 0.30 * 1.414 = 0.424, so the
    second move is next; the document's 0.55 * sqrt(2 / 2) = 0.55 would take the first again.
    """
    priors = {"a1a2": 0.55, "a1b1": 0.30, "a1b2": 0.15}
    seen = []
    for n in (1, 2):
        config = Config(simulations_per_move=n, c_puct=1.0, other=PLAIN)
        seen.append(visits(AlphaChess(fixed(priors), config).search(Chess(THREE_MOVES))))
    assert seen == [{"a1a2": 1, "a1b1": 0, "a1b2": 0}, {"a1a2": 1, "a1b1": 1, "a1b2": 0}]
    formula = quote("alphachess", "Selection").partition(" = ")[2]
    formula = formula.replace("sum(N(s, b) for all b)", "total").replace("(s, a)", "[a]")
    for total in (1, 2):  # whether or not the root's own evaluation counts
        names = {"Q": dict.fromkeys(priors, 0.0), "P": priors, "N": seen[0], "C": 1.0}
        names |= {"sqrt": math.sqrt, "total": total, "priors": priors}
        exec(f"wrong = {{a: {formula} for a in priors}}", names)
        assert max(names["wrong"], key=names["wrong"].get) == "a1a2"


@pytest.mark.parametrize("turned", [False, True], ids=["white", "black"])
def test_m11_the_edge_into_a_leaf_gets_the_negative_of_its_value(turned):
    fen = chess.Board(THREE_MOVES).mirror().fen() if turned else THREE_MOVES
    config = Config(simulations_per_move=1, other=PLAIN)
    result = AlphaChess(fixed({}, value=0.25), config).search(Chess(fen))
    edge = result.tree.root.edges[0]
    assert (edge.N, edge.W) == (1, -0.25)  # the opponent, to move at the leaf, is better
    config = Config(simulations_per_move=12, other=PLAIN)
    result = AlphaChess(fixed({}, value=0.25), config).search(Chess(fen))
    for edge in result.tree.root.edges:
        below = sum(deeper.W for deeper in edge.child.edges)
        assert edge.W == pytest.approx(-(0.25 + below))  # each level for its own player


def test_m11_the_only_move_that_does_not_lose_has_the_lowest_prior():
    # White must stop Ra1#: every move but g2g3 and alike allows it; h2h3 makes room.
    fen = "r5k1/5ppp/8/8/8/8/5PPP/6K1 w - - 0 1"
    board = chess.Board(fen)
    safe = []
    for move in board.legal_moves:
        board.push(move)
        mates = [reply for reply in board.legal_moves if _mates(board, reply)]
        safe += [] if mates else [move.uci()]
        board.pop()
    assert 0 < len(safe) < board.legal_moves.count()
    priors = {move.uci(): 0.0001 if move.uci() in safe else 0.2 for move in board.legal_moves}
    for other in (PLAIN, {}):
        config = Config(simulations_per_move=4000, other=other)
        result = AlphaChess(fixed(priors), config).search(Chess(fen))
        assert result.game.action_to_string(result.best) in safe


def _mates(board, move):
    board.push(move)
    mated = board.is_checkmate()
    board.pop()
    return mated


def test_m12_it_is_puct_and_has_no_logarithm():
    """Every choice follows Q + c P sqrt(N) / (1 + n); UCB1's sqrt(ln N / n) would differ."""
    differs = 0
    for n in range(1, 40):
        results = [
            AlphaChess(Hashed(), Config(simulations_per_move=m, c_puct=1.5, other=PLAIN)).search(
                Chess(THREE_MOVES)
            )
            for m in (n, n + 1)
        ]
        before, after = map(statistics, results)
        taken = next(uci for uci in before if after[uci].N > before[uci].N)
        root = results[0].tree.root.N

        def puct(uci, edges=before, total=root):
            edge = edges[uci]
            q = edge.Q if edge.N else 0.0
            return q + 1.5 * edge.P * math.sqrt(total) / (1 + edge.N)

        def ucb1(uci, edges=before, total=root):
            edge = edges[uci]
            return edge.Q + math.sqrt(2 * math.log(total) / edge.N) if edge.N else math.inf

        assert taken == max(before, key=puct)
        differs += taken != max(before, key=ucb1)
    assert differs > 3


def test_untried_moves_are_not_worth_infinity():
    priors = dict.fromkeys((move.uci() for move in chess.Board().legal_moves), 0.0001)
    priors |= {"e2e4": 0.6, "d2d4": 0.4}
    result = AlphaChess(fixed(priors), Config(simulations_per_move=40)).search(Chess())
    tried = [uci for uci, n in visits(result).items() if n]
    assert set(tried) == {"e2e4", "d2d4"}
    assert np.count_nonzero(result.policy) == 2  # nor in the training target


def test_the_first_search_of_a_game_has_noise_too():
    config = Config(simulations_per_move=1)
    first = AlphaChess(fixed({}), config, self_play=True).search(Chess())
    priors = [edge.P for edge in first.tree.root.edges]
    assert np.ptp(priors) > 0.01  # even without noise


@pytest.mark.parametrize("turned", [False, True], ids=["white", "black"])
def test_a_queen_promotion_is_played_as_it_was_chosen(turned):
    fen = "8/P6k/8/8/8/8/6K1/8 w - - 0 1"
    fen, best = (chess.Board(fen).mirror().fen(), "a2a1q") if turned else (fen, "a7a8q")
    engine = AlphaChess("material", Config(simulations_per_move=200))
    game = Chess(fen)
    game.apply(engine.play(game))
    assert game.moves == [best]


def test_moves_are_drawn_among_the_children_themselves():
    config = Config(simulations_per_move=30, seed=5)
    engine = AlphaChess(Hashed(), config, self_play=True)
    for seed in range(20):
        engine.new_game(seed)
        action = engine.play(Chess(MIDDLE_GAME))
        assert engine.result.tree.root.edge(action).N > 0


def test_history_goes_along_inside_the_tree():
    """A leaf's observation has the boards of the moves that led there."""
    seen = []

    def record(leaves):
        seen.extend(leaves.observations)
        return np.zeros(len(leaves.actions)), np.zeros(len(leaves))

    result = AlphaChess(record, Config(simulations_per_move=60, other=PLAIN)).search(Chess())
    lines = [[]]
    for edge in result.tree.root.edges:
        if edge.N:
            lines.append([edge.action])
            lines += [[edge.action, below.action] for below in edge.child.edges if below.N]
    expected = []
    for line in lines:
        game = Chess()
        for action in line:
            game.apply(action)
        expected.append(game.observation().tobytes())
    assert {row.tobytes() for row in seen} >= set(expected)
    assert any(len(line) == 2 for line in lines)
