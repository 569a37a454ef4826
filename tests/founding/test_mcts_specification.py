"""The document `mcts-specification`: its ids, its mistakes, its examples from their text."""

import math
import re

import chess
import numpy as np
import pytest
from hypothesis import given

from sylvan.classic.mcts_specification import MCTS, ChessGame, ChessNN, Node, puct
from sylvan.errors import ConfigError, EvaluationError, NetworkError
from sylvan.games import Chess
from sylvan.muzero import build_muzero
from sylvan.networks import save_network
from tests.founding.oracles import (
    THREE_MOVES,
    HashNetwork,
    hashed,
    over,
    plain_search,
    planes18,
)
from tests.founding.quotes import own_parameters, parameters, quote, without_imports
from tests.games.chess_games import boards
from tests.games.chess_oracles import az73_code as code

DOCUMENT = "mcts-specification"
MIDDLE_GAME = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"


class Scripted:
    """Fixed outputs by FEN, ({uci: probability}, value); for other positions equal priors and 0."""

    def __init__(self, script=None, value=0.0):
        self.value, self.seen = value, []
        self.script = {}
        for fen, (moves, value) in (script or {}).items():
            board, policy = chess.Board(fen), np.zeros(4672)
            for uci, p in moves.items():
                policy[code(chess.Move.from_uci(uci), board.turn)] = p
            self.script[planes18(board).tobytes()] = (policy, value)

    def predict(self, boards):
        policies, values = [], []
        for board in boards:
            self.seen.append(np.ascontiguousarray(board).tobytes())
            even = (np.full(4672, 1 / 4672), self.value)
            policy, value = self.script.get(self.seen[-1], even)
            policies.append(policy)
            values.append(value)
        return np.array(policies), np.array(values)


def visits(mcts):
    return {move.uci(): child.visit_count for move, child in mcts.root.children.items()}


def mirrored(fen):
    return chess.Board(fen).mirror().fen()


# --- what the document asks for -----------------------------------------------------------------


def test_s3_1_an_object_tree_where_every_path_is_its_own():
    mcts = MCTS(HashNetwork(), num_simulations=300)
    mcts.search(ChessGame(THREE_MOVES))
    nodes, waiting = [], [mcts.root]
    while waiting:
        nodes.append(waiting.pop())
        waiting += nodes[-1].children.values()
    assert all(type(node) is Node for node in nodes)
    assert len({id(node) for node in nodes}) == len(nodes)
    # A position that is reached along two paths is evaluated along both: no transpositions.
    network = Scripted()
    MCTS(network, num_simulations=300).search(ChessGame(THREE_MOVES))
    assert len(network.seen) > len(set(network.seen))


def test_s3_1_one_leaf_at_a_time():
    network = HashNetwork()
    MCTS(network, num_simulations=60).search(ChessGame())
    assert network.calls == network.boards


def test_s3_2_the_node_of_the_document():
    theirs, ours = {}, Node(prior=0.25)
    exec(quote(DOCUMENT, "Node Class"), theirs)
    for node in (theirs["Node"](prior=0.25), ours):
        assert (node.prior, node.visit_count, node.total_value) == (0.25, 0, 0.0)
        assert node.children == {} and node.q_value == 0.0
        node.visit_count, node.total_value = 3, 1.0
        assert node.q_value == 1 / 3
    other = Node(prior=0.25)
    assert ours != other and len({ours, other}) == 2
    ours.children[chess.Move.from_uci("e2e4")] = other


def test_s3_3_the_score_negates_the_value_of_the_child():
    parent, child = Node(1.0), Node(0.5)
    parent.visit_count, child.visit_count, child.total_value = 16, 3, 1.5
    assert puct(parent, child, c_puct=2.0) == pytest.approx(-0.5 + 2.0 * 0.5 * 4 / 4)
    assert puct(parent, Node(0.25)) == pytest.approx(0.25 * 4)


def test_s3_3_every_choice_of_a_search_has_the_highest_score():
    for n in range(1, 40, 3):
        before, after = (MCTS(HashNetwork(), num_simulations=m) for m in (n, n + 1))
        for mcts in (before, after):
            mcts.search(ChessGame(MIDDLE_GAME), temperature=0)
        old = before.root
        taken = next(m for m, v in visits(after).items() if v > visits(before)[m])
        best = max(old.children, key=lambda move: puct(old, old.children[move]))
        assert best.uci() == taken


@pytest.mark.slow
@pytest.mark.parametrize(
    "fen", [chess.STARTING_FEN, MIDDLE_GAME, mirrored(MIDDLE_GAME), MATE_IN_ONE]
)
@pytest.mark.parametrize("c_puct", [1.0, 3.0])
def test_s3_4_the_same_tree_as_the_algorithm_in_the_fewest_words(fen, c_puct):
    mcts = MCTS(HashNetwork(), num_simulations=150, c_puct=c_puct)
    mcts.search(ChessGame(fen))
    waiting = [(mcts.root, plain_search(chess.Board(fen), hashed, 150, c_puct))]
    while waiting:
        ours, theirs = waiting.pop()
        assert ours.visit_count == theirs.visits
        assert ours.total_value == pytest.approx(theirs.total, abs=1e-5)
        assert ours.prior == pytest.approx(theirs.prior, rel=1e-5)
        assert ours.children.keys() == theirs.children.keys()
        waiting += [(child, theirs.children[move]) for move, child in ours.children.items()]


@pytest.mark.parametrize("turned", [False, True], ids=["white", "black"])
def test_s3_5_a_finished_game_is_not_expanded_and_has_its_real_result(turned):
    fen, mate = (mirrored(MATE_IN_ONE), "a8a1") if turned else (MATE_IN_ONE, "a1a8")
    network = Scripted(value=0.9)  # everything else looks good for the opponent
    mcts = MCTS(network, num_simulations=200)
    assert mcts.search(ChessGame(fen), temperature=0).uci() == mate
    child = mcts.root.children[chess.Move.from_uci(mate)]
    assert child.children == {} and child.q_value == -1.0 and child.visit_count > 100
    board = chess.Board(fen)
    board.push_uci(mate)
    assert planes18(board).tobytes() not in network.seen


def test_s3_6_temperature():
    game, mcts = ChessGame(THREE_MOVES), MCTS(HashNetwork(), num_simulations=41, c_puct=4.0)
    np.random.seed(5)
    best = mcts.search(game, temperature=0)
    share = {move: n / 40 for move, n in visits(mcts).items()}
    assert share[best.uci()] == max(share.values())
    assert {mcts.search(game, temperature=1e-3) for _ in range(20)} == {best}
    for temperature in (1.0, 2.0, 1e3):
        drawn = [mcts.search(game, temperature=temperature).uci() for _ in range(120)]
        weights = {move: p ** (1 / temperature) for move, p in share.items()}
        for move, weight in weights.items():
            expected = weight / sum(weights.values())
            error = math.sqrt(expected * (1 - expected) / 120)
            assert abs(drawn.count(move) / 120 - expected) <= 4 * error


def test_s3_7_noise_is_for_self_play_at_the_root_only():
    fen, network = MIDDLE_GAME, Scripted()
    priors = {}
    for add_noise in (False, True):
        np.random.seed(7)
        mcts = MCTS(network, num_simulations=50)
        mcts.search(ChessGame(fen), add_noise=add_noise)
        priors[add_noise] = np.array([child.prior for child in mcts.root.children.values()])
        for child in mcts.root.children.values():
            below = [grandchild.prior for grandchild in child.children.values()]
            assert np.allclose(below, below[0] if below else 0)
    even = 1 / len(priors[False])
    assert np.allclose(priors[False], even)
    eta = (priors[True] - 0.75 * even) / 0.25
    assert eta.min() > -1e-6 and eta.sum() == pytest.approx(1, abs=1e-5) and eta.max() > 3 * even
    mcts = MCTS(network, num_simulations=50, dirichlet_epsilon=0.0)
    mcts.search(ChessGame(fen), add_noise=True)
    assert np.allclose([child.prior for child in mcts.root.children.values()], even)


def test_s3_8_the_signature_and_a_constructor_that_builds_nothing():
    interface = quote(DOCUMENT, "Class Interface")
    for name in ("__init__", "search", "get_policy"):
        header = re.search(rf"def {name}\(.*?\)(?= ->|\n)", interface, re.DOTALL)[0]
        assert own_parameters(getattr(MCTS, name)) == parameters(header)
    network = HashNetwork()
    mcts = MCTS(neural_network=network, num_simulations=7, c_puct=2.0)
    assert network.calls == 0 and mcts.root.visit_count == 0 and mcts.root.children == {}
    assert (mcts.neural_network, mcts.num_simulations, mcts.c_puct) == (network, 7, 2.0)
    assert (mcts.dirichlet_alpha, mcts.dirichlet_epsilon) == (0.3, 0.25)
    with pytest.raises(ConfigError, match=r"dirichlet_epsilon is 1\.5"):
        MCTS(network, dirichlet_epsilon=1.5)
    with pytest.raises(ConfigError, match=r"num_simulations is -1.*0"):
        MCTS(network, num_simulations=-1)
    with pytest.raises(ConfigError, match=r"game is a Board.*ChessGame"):
        mcts.search(chess.Board())
    with pytest.raises(ConfigError, match="temperature is -1"):
        mcts.search(ChessGame(), temperature=-1)


FINISHED = {
    "mate": ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", []),
    "stalemate": ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", []),
    "bare kings": ("8/8/4k3/8/8/3K4/8/8 w - - 0 1", []),
    "fifty moves": ("8/8/4k3/8/8/3K4/8/R7 w - - 100 90", []),
    "threefold": (chess.STARTING_FEN, ["g1f3", "g8f6", "f3g1", "f6g8"] * 2),
}


@pytest.mark.parametrize("ending", FINISHED)
def test_s3_9_a_finished_game_is_a_value_error(ending):
    fen, moves = FINISHED[ending]
    game = ChessGame(fen)
    for move in moves:
        game.make_move(chess.Move.from_uci(move))
    for method in (MCTS(HashNetwork()).search, MCTS(HashNetwork()).get_policy):
        with pytest.raises(ValueError, match="The game is over"):
            method(game)


def test_s3_10_the_policy_is_the_visits_whatever_the_temperature():
    game, policies = ChessGame(MIDDLE_GAME), []
    for temperature in (0.0, 1e-3, 1.0, 1e3):
        mcts = MCTS(HashNetwork(), num_simulations=80)
        move, policy = mcts.get_policy(game, temperature=temperature)
        assert type(move) is chess.Move and policy.shape == (4672,)
        by_hand = {"np": np, "root": mcts.root, "game": game}
        exec(quote(DOCUMENT, "Policy construction"), by_hand)
        assert np.array_equal(policy, by_hand["policy"])
        policies.append(policy)
    assert all(np.array_equal(policy, policies[0]) for policy in policies)
    assert set(np.flatnonzero(policies[0])) <= set(np.flatnonzero(game.get_legal_moves_mask()))


def test_s3_11_the_game_is_left_alone_and_the_root_counts_its_own_evaluation():
    game = ChessGame()
    game.make_move(chess.Move.from_uci("e2e4"))
    before = game.get_state(), game.board.move_stack
    mcts = MCTS(HashNetwork(), num_simulations=40)
    mcts.search(game)
    assert (game.get_state(), game.board.move_stack) == before
    assert mcts.root.prior == 1.0 and mcts.root.visit_count == 40
    assert sum(visits(mcts).values()) == 39
    with pytest.raises(NetworkError, match=r"build_model.*load_model"):
        MCTS(ChessNN()).search(game)


def test_s3_12_the_schedule_of_temperatures_is_the_callers():
    np.random.seed(1)
    play = {
        "mcts": MCTS(HashNetwork(), num_simulations=5),
        "game": ChessGame(),
        "max_moves": 34,
    }
    exec(quote(DOCUMENT, "Self-Play Temperature Schedule"), play)
    assert len(play["game"].board.move_stack) == 34
    assert play["policy"].argmax() == code(play["move"], chess.BLACK)  # greedy by then


@pytest.mark.slow
def test_the_usage_example_runs_from_its_text(tmp_path):
    network = ChessNN(num_blocks=1, num_filters=8)
    network.build_model()
    network.save_model(str(tmp_path / "trained_model.safetensors"))
    example = without_imports(quote(DOCUMENT, "Usage Example"))
    example = example.replace("trained_model.keras", f"{tmp_path}/trained_model.safetensors")
    names = {"ChessGame": ChessGame, "ChessNN": ChessNN, "MCTS": MCTS}
    exec(example, names)
    assert names["move"] in names["game"].get_legal_moves()
    assert names["policy"].sum() == pytest.approx(1) and names["mcts"].root.visit_count == 100


# --- the game -----------------------------------------------------------------------------------


@given(boards())
def test_s3_20_the_game_agrees_with_python_chess(board):
    if board.chess960 or not board.is_valid():
        return
    game = ChessGame(board.root().fen(en_passant="fen"))
    line = board.root()
    for move in board.move_stack:
        if over(line):
            return
        game.make_move(move)
        line.push(move)
    assert game.get_state() == board.fen() and game.is_game_over() == over(board)
    assert np.array_equal(game.get_canonical_board(), planes18(board))
    assert game.get_canonical_board().dtype == np.float32
    if over(board):
        assert game.get_result() == (-1 if board.is_checkmate() else 0)
        assert game.get_legal_moves() == []
        return
    assert game.get_result() is None
    assert set(game.get_legal_moves()) == set(board.legal_moves)
    indices = {code(move, board.turn): move for move in board.legal_moves}
    assert set(np.flatnonzero(game.get_legal_moves_mask())) == set(indices)
    for index, move in indices.items():
        assert game.get_move_index(move) == index and game.get_move_from_index(index) == move


@pytest.mark.parametrize("ending", FINISHED)
@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "mirrored"])
def test_s3_20_results_are_for_the_side_to_move(ending, turned):
    fen, moves = FINISHED[ending]
    game = ChessGame(mirrored(fen) if turned and not moves else fen)
    for move in moves:
        assert game.get_result() is None
        game.make_move(chess.Move.from_uci(move))
    assert game.get_result() == (-1 if ending == "mate" else 0)


def test_s3_20_moves_are_made_taken_back_and_cloned():
    game = ChessGame()
    copy = game.clone()
    for uci in ("e2e4", "e7e5", "g1f3"):
        game.make_move(chess.Move.from_uci(uci))
    assert copy.get_state() == chess.STARTING_FEN
    assert game.undo_move().uci() == "g1f3" and game.board.ply() == 2
    before = game.get_state()
    for refused in ("e1e3", "e2e4"):
        with pytest.raises(ValueError, match="not legal"):
            game.make_move(chess.Move.from_uci(refused))
    with pytest.raises(ValueError, match="Index 0 "):
        game.get_move_from_index(0)
    assert game.get_state() == before
    game.undo_move()
    game.undo_move()
    assert game.get_state() == chess.STARTING_FEN
    with pytest.raises(ValueError, match="no move"):
        game.undo_move()
    with pytest.raises(ValueError, match="FEN"):
        ChessGame("no position")


def test_s3_20_a_draw_is_claimed_when_it_is_there_and_not_a_move_before():
    game = ChessGame()
    shuffle = [chess.Move.from_uci(uci) for uci in ("g1f3", "g8f6", "f3g1", "f6g8") * 2]
    for move in shuffle[:-1]:
        game.make_move(move)
    # The library would let a player claim it here, by announcing the next move.
    assert game.board.can_claim_threefold_repetition() and not game.is_game_over()
    game.make_move(shuffle[-1])
    assert game.is_game_over() and game.get_result() == 0 and not game.board.is_game_over()
    game.undo_move()
    assert not game.is_game_over()
    late = ChessGame("8/8/4k3/8/8/3K4/8/R7 w - - 99 90")
    assert not late.is_game_over()
    late.make_move(chess.Move.from_uci("a1a2"))
    assert late.is_game_over() and late.get_result() == 0


def test_s3_20_a_position_and_its_mirror_image_differ_in_one_plane_and_share_indices():
    game, mirror = ChessGame(MIDDLE_GAME), ChessGame(mirrored(MIDDLE_GAME))
    one, two = game.get_canonical_board(), mirror.get_canonical_board()
    assert np.array_equal(one[:, :, :17], two[:, :, :17])
    assert not one[:, :, 17].any() and two[:, :, 17].all()
    assert np.array_equal(game.get_legal_moves_mask(), mirror.get_legal_moves_mask())
    for move in game.get_legal_moves():
        squares = chess.square_mirror(move.from_square), chess.square_mirror(move.to_square)
        turned = chess.Move(*squares, promotion=move.promotion)
        assert game.get_move_index(move) == mirror.get_move_index(turned)


# --- the network --------------------------------------------------------------------------------


def test_s3_21_the_default_network_is_ten_blocks_of_128():
    network = ChessNN()
    network.build_model()
    assert (network.num_blocks, network.num_filters) == (10, 128)
    blocks = [m for m in network.model.modules() if type(m).__name__ == "ResidualBlock"]
    assert len(blocks) == 10
    assert 3.0e6 < sum(p.numel() for p in network.model.parameters()) < 4.2e6
    policy, value = network.predict(ChessGame().get_canonical_board())
    assert policy.shape == (4672,) and policy.sum() == pytest.approx(1, abs=1e-4)
    assert policy.min() >= 0 and -1 <= value <= 1


@pytest.fixture
def small():
    import torch

    torch.manual_seed(1)
    network = ChessNN(num_blocks=1, num_filters=8, learning_rate=0.01)
    network.build_model()
    return network


def test_s3_21_one_board_or_a_batch(small):
    batch = np.stack([ChessGame(fen).get_canonical_board() for fen in (None, MIDDLE_GAME)])
    policies, values = small.predict(batch)
    assert policies.shape == (2, 4672) and values.shape == (2,)
    for board, policy, value in zip(batch, policies, values, strict=True):
        alone = small.predict(board)
        assert np.allclose(alone[0], policy, atol=1e-6) and alone[1] == pytest.approx(
            value, abs=1e-6
        )
    with pytest.raises(EvaluationError, match=r"shape \(18, 8, 8\): give \(8, 8, 18\)"):
        small.predict(np.zeros((18, 8, 8)))


@pytest.mark.slow
def test_s3_21_training_teaches(small):
    games = [ChessGame(fen) for fen in (None, MIDDLE_GAME, mirrored(MIDDLE_GAME), THREE_MOVES)]
    inputs = np.stack([game.get_canonical_board() for game in games])
    targets = np.zeros((4, 4672))
    for row, game in enumerate(games):
        targets[row, game.get_move_index(game.get_legal_moves()[row % 3])] = 1
    values = np.array([1.0, -1.0, 0.5, 0.0])
    history = small.train(inputs, targets, values, epochs=120, batch_size=4)
    assert {len(losses) for losses in history.values()} == {120}
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    policies, predicted = small.predict(inputs)
    assert (policies.argmax(1) == targets.argmax(1)).all()
    assert np.abs(predicted - values).mean() < 0.4
    with pytest.raises(EvaluationError, match=r"give \(n, 8, 8, 18\), \(n, 4672\) and \(n,\)"):
        small.train(inputs, targets[:2], values)


def test_s3_21_files(small, tmp_path):
    board, path = ChessGame().get_canonical_board(), str(tmp_path / "net.safetensors")
    small.save_model(path)
    loaded = ChessNN()
    loaded.load_model(path)
    assert np.array_equal(loaded.predict(board)[0], small.predict(board)[0])
    other = ChessNN(num_blocks=1, num_filters=8)
    other.build_model()
    assert not np.array_equal(other.predict(board)[0], small.predict(board)[0])
    small.save_weights(path)
    other.load_weights(path)
    assert np.array_equal(other.predict(board)[0], small.predict(board)[0])
    larger = ChessNN(num_blocks=2, num_filters=8)
    larger.build_model()
    with pytest.raises(NetworkError, match="use load_model"):
        larger.load_weights(path)


def test_s3_21_a_learned_model_is_refused(tmp_path):
    game = Chess(encoder="planes18")
    save_network(build_muzero("mlp1x16", game=game), tmp_path / "net.safetensors")
    with pytest.raises(NetworkError, match="learned model"):
        ChessNN().load_model(str(tmp_path / "net.safetensors"))


@pytest.mark.parametrize("method", ["load_model", "save_model", "load_weights", "save_weights"])
def test_s3_21_a_keras_file_gets_a_sentence(small, method, tmp_path):
    path = tmp_path / "trained_model.keras"
    with pytest.raises(NetworkError, match=r"keras.*\.safetensors"):
        getattr(small, method)(str(path))
    assert not path.exists()


# --- mistakes -----------------------------------------------------------------------------------


def test_m16_illegal_moves_have_no_share_and_nothing_known_is_even():
    fen = THREE_MOVES
    network = Scripted({fen: ({"a1a2": 0.2, "a1b1": 0.1, "a1b2": 0.1}, 0.0)})  # 0.6 on illegal ones
    mcts = MCTS(network, num_simulations=1)
    mcts.search(ChessGame(fen))
    priors = {move.uci(): child.prior for move, child in mcts.root.children.items()}
    assert priors == pytest.approx({"a1a2": 0.5, "a1b1": 0.25, "a1b2": 0.25})
    mcts = MCTS(Scripted({fen: ({}, 0.0)}), num_simulations=1)
    mcts.search(ChessGame(fen))
    assert [child.prior for child in mcts.root.children.values()] == pytest.approx([1 / 3] * 3)


def test_m20_the_first_choice_follows_the_priors():
    # With N = 0 at the first selection all scores would be 0 and the first listed move be taken.
    for likely in ("a1a2", "a1b1", "a1b2"):
        priors = dict.fromkeys(("a1a2", "a1b1", "a1b2"), 0.2) | {likely: 0.6}
        mcts = MCTS(Scripted({THREE_MOVES: (priors, 0.0)}), num_simulations=2)
        mcts.search(ChessGame(THREE_MOVES))
        assert visits(mcts)[likely] == 1 and sum(visits(mcts).values()) == 1


def test_m23_an_unvisited_move_is_worth_a_draw():
    # a1a2 turns out well (-0.5 for the opponent), a1b1 badly: after both, the untried third move
    # stands at 0, between them, and not at a loss.
    good, bad = (chess.Board(THREE_MOVES.replace("w", "b")) for _ in range(2))
    good.remove_piece_at(chess.A1), good.set_piece_at(chess.A2, chess.Piece.from_symbol("K"))
    bad.remove_piece_at(chess.A1), bad.set_piece_at(chess.B1, chess.Piece.from_symbol("K"))
    script = {
        THREE_MOVES: ({"a1a2": 0.5, "a1b1": 0.4, "a1b2": 0.1}, 0.0),
        good.fen(): ({}, -0.5),
        bad.fen(): ({}, 0.5),
    }
    mcts = MCTS(Scripted(script), num_simulations=3, c_puct=0.1)
    mcts.search(ChessGame(THREE_MOVES))
    root = mcts.root
    assert visits(mcts) == {"a1a2": 2, "a1b1": 0, "a1b2": 0}  # the good one keeps its lead over 0
    mcts = MCTS(Scripted(script | {good.fen(): ({}, 0.5)}), num_simulations=4, c_puct=0.1)
    mcts.search(ChessGame(THREE_MOVES))
    assert visits(mcts) == {"a1a2": 1, "a1b1": 1, "a1b2": 1}  # 0 beats both that lost
    unvisited = root.children[chess.Move.from_uci("a1b2")]
    assert unvisited.q_value == 0.0 and puct(root, unvisited, 0.1) > 0


@pytest.mark.parametrize("n", [0, 1])
def test_m24_without_visits_the_policy_is_the_priors(n):
    priors = {"a1a2": 0.6, "a1b1": 0.3, "a1b2": 0.1}
    mcts = MCTS(Scripted({THREE_MOVES: (priors, 0.0)}), num_simulations=n)
    move, policy = mcts.get_policy(ChessGame(THREE_MOVES), temperature=0)
    assert move.uci() == "a1a2" and np.isfinite(policy).all()
    for uci, p in priors.items():
        assert policy[code(chess.Move.from_uci(uci), chess.WHITE)] == pytest.approx(p)


def test_m25_one_evaluation_per_leaf():
    network = HashNetwork()
    MCTS(network, num_simulations=120).search(ChessGame())
    assert network.boards == 120  # one position each: nobody mates in so few


def test_a_broken_prediction_is_named():
    class Broken:
        def __init__(self, policies, values):
            self.answer = policies, values

        def predict(self, boards):
            return self.answer

    even = np.full((1, 4672), 1 / 4672)
    for answer, sentence in (
        ((even[:, :100], np.zeros(1)), r"probabilities of shape \(1, 100\)"),
        ((-even, np.zeros(1)), "probability of -0.0002"),
        ((even * np.nan, np.zeros(1)), "probability of nan"),
        ((even, np.array([np.nan])), "value of leaf 0 .* is nan"),
    ):
        with pytest.raises(EvaluationError, match=sentence):
            MCTS(Broken(*answer)).search(ChessGame())
