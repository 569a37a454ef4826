"""The document `node-edge-chess`: its ids, its mistakes, its loop from its text."""

import inspect
import json
import logging
import re
import shutil
import subprocess
import textwrap
import zlib

import chess
import numpy as np
import pytest
from hypothesis import given

from sylvan.classic import progress
from sylvan.classic.node_edge import CONFIG, MCTS, Digraph, Edge, Node, state_to_input
from sylvan.errors import ConfigError, EvaluationError, GameOver, IllegalAction, SearchStateError
from sylvan.games import Chess
from sylvan.games.chess import expand_planes
from tests.founding.oracles import THREE_MOVES, over
from tests.founding.quotes import own_parameters, parameters, quote
from tests.games.chess_games import boards
from tests.games.chess_oracles import az73_code as code

DOCUMENT = "node-edge-chess"
MIDDLE_GAME = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"
STALEMATE_IN_ONE = "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"  # f1f7 stalemates, f1f8 mates


class HashAgent:
    """Random, but fixed by what it sees; counts what it is asked."""

    def __init__(self):
        self.seen = []

    def predict(self, planes):
        assert planes.shape == (1, 19, 8, 8) and planes.dtype == np.float32
        self.seen.append(zlib.crc32(planes.tobytes()))
        rng = np.random.default_rng(self.seen[-1])
        return rng.random(4672), np.float32(rng.uniform(-1, 1))


class EvenAgent(HashAgent):
    """Every move alike, one value for every side to move."""

    def __init__(self, value=0.0):
        super().__init__()
        self.value = value

    def predict(self, planes):
        super().predict(planes)
        return np.full((73, 8, 8), 1 / 4672), self.value


def by_hand(mcts, n):
    """The document's own loop."""
    body = textwrap.dedent(quote(DOCUMENT, "2. Running Simulations").partition("\n")[2])
    body = re.sub(r"^\s*leaf", "    leaf", body, flags=re.MULTILINE)  # its indentation is damaged
    body = re.sub(r"^\s*self", "    self", body, flags=re.MULTILINE)
    exec(body.lstrip(), {"self": mcts, "n": n, "tqdm": iter})


def everything(node):
    """All statistics below a node."""
    return {
        edge.action.uci(): (edge.N, round(edge.W, 4), edge.P, everything(edge.output_node))
        for edge in node.edges
    }


# --- what the document asks for -----------------------------------------------------------------


def test_s2_1_signature_and_attributes():
    header = quote(DOCUMENT, "1. Class Initialization").splitlines()[0]
    expected = parameters(header) | {"state": chess.STARTING_FEN}
    assert own_parameters(MCTS.__init__) == expected
    agent = HashAgent()
    mcts = MCTS(agent)
    assert type(mcts.root) is Node and mcts.root.state == chess.STARTING_FEN
    assert (mcts.game_path, mcts.cur_board, mcts.agent) == ([], None, agent)
    assert mcts.stochastic is False and agent.seen == []
    for header in quote(DOCUMENT, "Signatures").splitlines():
        header = header.removesuffix(" ...")
        name = re.match(r"def (\w+)", header)[1]
        assert own_parameters(getattr(MCTS, name)) == parameters(header)


@pytest.mark.slow
@pytest.mark.parametrize("fen", [chess.STARTING_FEN, MIDDLE_GAME, MATE_IN_ONE])
def test_s2_2_the_core_and_the_documents_own_loop_grow_the_same_tree(fen):
    fast, slow = MCTS(HashAgent(), fen), MCTS(HashAgent(), fen)
    fast.run_simulations(80)
    by_hand(slow, 80)
    assert everything(fast.root) == everything(slow.root)
    assert fast.agent.seen == slow.agent.seen
    assert fast.root.N == slow.root.N == 80
    assert sum(edge.N for edge in fast.root.edges) == 79
    fast.run_simulations(30)
    slow.run_simulations(30)  # goes on by hand
    assert everything(fast.root) == everything(slow.root) and fast.root.N == 110
    assert fast.root.value == pytest.approx(slow.root.value, abs=1e-5)


def test_s2_2_a_progress_bar_on_a_terminal(monkeypatch):
    from io import StringIO

    from rich.console import Console

    shown = StringIO()
    monkeypatch.setattr(
        "rich.console.Console",
        lambda **_: Console(file=shown, force_terminal=True, width=80),
    )
    MCTS(EvenAgent()).run_simulations(25)
    assert "simulations" in shown.getvalue() and "25/25" in shown.getvalue()
    monkeypatch.undo()
    with progress.progress_bar("quiet", 3) as show:  # no terminal: nothing is written
        show(1)


def test_s2_3_selection_goes_to_a_leaf_by_the_highest_score():
    mcts = MCTS(HashAgent())
    mcts.run_simulations(60)
    mcts.game_path = []
    leaf = mcts.select_child(mcts.root)
    node = mcts.root
    for edge in mcts.game_path:
        assert edge.input_node is node
        scores = [other.upper_confidence_bound() for other in node.edges]
        assert edge.upper_confidence_bound() == max(scores)
        node = edge.output_node
    assert node is leaf and leaf.is_leaf()


@given(boards())
def test_s2_4_moves_map_to_planes_and_squares(board):
    if board.chess960:
        return
    mcts = MCTS(EvenAgent())
    mcts.cur_board = board
    for move in board.legal_moves:
        mcts.map_valid_move(move)
    assert [output[0] for output in mcts.outputs] == list(board.legal_moves)
    assert len({output[1:] for output in mcts.outputs}) == len(mcts.outputs)
    planes = None if over(board) else state_to_input(board.fen())[0]
    for move, plane, row, column in mcts.outputs:
        index = code(move, board.turn)
        assert (plane, 8 * row + column) == (index % 73, index // 73)
        if move.promotion not in (None, chess.QUEEN):
            assert plane in range(64, 73)
        elif board.piece_type_at(move.from_square) == chess.KNIGHT:
            assert plane in range(56, 64)
        else:
            assert plane in range(56)
        if planes is not None:  # what the agent sees and what it answers have the same axes
            piece = board.piece_type_at(move.from_square) - 1
            assert planes[piece, row, column] == 1


def test_s2_4_a_move_needs_a_piece():
    mcts = MCTS(EvenAgent())
    with pytest.raises(IllegalAction, match="No piece stands on e4: set cur_board"):
        mcts.map_valid_move(chess.Move.from_uci("e4e5"))
    mcts.cur_board = chess.Board()
    with pytest.raises(IllegalAction, match="No piece stands on e4"):
        mcts.map_valid_move(chess.Move.from_uci("e4e5"))
    with pytest.raises(IllegalAction, match="not legal"):
        mcts.map_valid_move(chess.Move.from_uci("e2e5"))


@given(boards())
def test_s2_5_legal_moves_and_their_probabilities(board):
    if board.chess960 or not any(board.legal_moves):
        return
    probabilities = np.random.default_rng(1).random((73, 8, 8))
    mcts = MCTS(EvenAgent())
    actions = mcts.probabilities_to_actions(probabilities, board.fen())
    assert set(actions) == {move.uci() for move in board.legal_moves}
    flat = probabilities.reshape(73, 64)
    raw = {
        move.uci(): flat[code(move, board.turn) % 73, code(move, board.turn) // 73]
        for move in board.legal_moves
    }
    expected = {uci: p / sum(raw.values()) for uci, p in raw.items()}
    assert actions == pytest.approx(expected, rel=1e-5)
    assert actions == mcts.probabilities_to_actions(probabilities.reshape(-1), board.fen())
    assert mcts.cur_board == chess.Board(board.fen())


def test_s2_6_expansion_by_hand():
    agent = HashAgent()
    mcts = MCTS(agent, MIDDLE_GAME)
    leaf = mcts.expand(mcts.root)
    probabilities, value = HashAgent().predict(state_to_input(MIDDLE_GAME))
    assert leaf is mcts.root and leaf.value == value and len(agent.seen) == 1
    board = chess.Board(MIDDLE_GAME)
    assert {edge.action for edge in leaf.edges} == set(board.legal_moves)
    priors = mcts.probabilities_to_actions(probabilities, MIDDLE_GAME)
    for edge in leaf.edges:
        assert edge.input_node is leaf and (edge.N, edge.W) == (0, 0.0)
        assert edge.P == priors[edge.action.uci()]
        after = board.copy()
        after.push(edge.action)
        assert edge.output_node.state == after.fen() and edge.output_node.is_leaf()
    with pytest.raises(SearchStateError, match="expanded already"):
        mcts.expand(leaf)


def test_s2_7_backpropagation_counts_nodes_and_edges_and_adds_values():
    mcts = MCTS(EvenAgent())
    first = mcts.expand(mcts.root).get_edge(chess.Move.from_uci("e2e4"))
    second = mcts.expand(first.output_node).get_edge(chess.Move.from_uci("e7e5"))
    mcts.game_path = [first, second]
    end = second.output_node  # White to move
    assert mcts.backpropagate(end, 0.5) is end
    assert (mcts.root.N, first.N, first.output_node.N, second.N, end.N) == (1, 1, 1, 1, 0)
    assert (first.W, second.W) == (0.5, -0.5)  # White moved along the first, Black the second


def graph(path):
    """Nodes and edges of a file, as Graphviz reads them."""
    if shutil.which("dot") is None:
        pytest.skip("graphviz is not installed")
    done = subprocess.run(["dot", "-Tdot_json", path], capture_output=True, text=True, check=True)
    read = json.loads(done.stdout)
    return read["objects"], read.get("edges", [])


def test_s2_8_the_tree_as_graphviz(tmp_path, caplog):
    mcts = MCTS(HashAgent(), THREE_MOVES)
    mcts.run_simulations(20)
    with caplog.at_level(logging.INFO):
        mcts.plot_tree(str(tmp_path / "new folder" / "tree.gv"), visits=0)
    below = mcts.root.get_all_children()
    assert f"# of nodes in tree: {len(below) + 1}" in caplog.text
    nodes, edges = graph(tmp_path / "new folder" / "tree.gv")
    assert len(nodes) == len(below) + 1 and len(edges) == len(below)
    moves = sorted(edge.action.uci() for node in [mcts.root, *below] for edge in node.edges)
    assert sorted(edge["label"] for edge in edges) == moves
    assert inspect.signature(MCTS.plot_tree).parameters["save_path"].default == "tests/mcts_tree.gv"


@pytest.mark.parametrize(
    ("limits", "most"),
    [({"nodes": 10}, 10), ({"depth": 1, "visits": 0}, 21), ({"visits": 2}, None)],
)
def test_s2_8_big_trees_are_drawn_within_limits(tmp_path, limits, most):
    mcts = MCTS(HashAgent())
    mcts.run_simulations(60)
    mcts.plot_tree(str(tmp_path / "tree.gv"), **limits)
    nodes, edges = graph(tmp_path / "tree.gv")
    drawn = [node for node in nodes if node["label"].startswith("N ")]
    more = [node for node in nodes if node not in drawn]
    if most is None:
        most = 1 + sum(node.N >= 2 for node in mcts.root.get_all_children())
    assert len(drawn) == most and len(edges) == len(nodes) - 1
    left_out = sum(int(re.fullmatch(r"\+([\d,]+) more", node["label"])[1]) for node in more)
    below = [edge for node in mcts.root.get_all_children() for edge in node.edges]
    if limits == {"visits": 2}:
        assert left_out <= sum(edge.N == 1 for edge in [*mcts.root.edges, *below])
    assert left_out > 0


def test_s2_8_by_default_what_was_visited_is_drawn_and_counted(tmp_path, caplog):
    """Once untried moves were drawn, too, the log counted other nodes than the picture has, and the
    root's Q was what the agent said of it alone.
    """
    mcts = MCTS(HashAgent())
    mcts.run_simulations(20)
    assert inspect.signature(MCTS.plot_tree).parameters["visits"].default == 1
    for _ in range(2):  # as the core left it, then changed by hand
        caplog.clear()
        with caplog.at_level(logging.INFO):
            mcts.plot_tree(str(tmp_path / "tree.gv"))
        labels = re.findall(r'\[label="(N .*?)"\]', (tmp_path / "tree.gv").read_text())
        assert len(labels) == 20 and "# of nodes in tree: 20" in caplog.text
        total = mcts.root.value + sum(edge.W for edge in mcts.root.edges)
        assert labels[0] == f"N 20\\nQ {total / 20:+.3f}"
        assert total / 20 != pytest.approx(mcts.root.value, abs=1e-3)
        mcts.root.edges[0].P = 0.5


def test_s2_8_plot_node_takes_any_digraph():
    class Recorder:
        def __init__(self):
            self.nodes, self.edges = {}, []

        def node(self, name, label):
            self.nodes[name] = label

        def edge(self, tail, head, label=""):
            self.edges.append((tail, head, label))

    mcts = MCTS(HashAgent(), THREE_MOVES)
    mcts.run_simulations(5)
    dot = Recorder()
    assert mcts.plot_node(dot, mcts.root, visits=0) is dot
    assert len(dot.nodes) == len(mcts.root.get_all_children()) + 1
    assert set(dot.edges) and all(label for _, _, label in dot.edges)
    assert "digraph {" in Digraph(comment="x").source


def test_s2_9_the_final_choice():
    mcts = MCTS(HashAgent(), MIDDLE_GAME)
    with pytest.raises(SearchStateError, match="run_simulations first"):
        mcts.best_edge()
    mcts.run_simulations(200)
    assert mcts.best_edge().N == max(edge.N for edge in mcts.root.edges)
    visited = [edge for edge in mcts.root.edges if edge.N]
    assert mcts.best_edge(by="value").Q == max(edge.Q for edge in visited)
    assert mcts.best_edge(by="value") is not mcts.best_edge()
    with pytest.raises(ConfigError, match="by is 'foo'"):
        mcts.best_edge("foo")


@pytest.mark.parametrize("turned", [False, True], ids=["white", "black"])
def test_s2_9_mate_is_found_by_both_colours(turned):
    fen = chess.Board(MATE_IN_ONE).mirror().fen() if turned else MATE_IN_ONE
    mcts = MCTS(EvenAgent(), fen)
    mcts.run_simulations(200)
    assert mcts.best_edge().action.uci() == ("a8a1" if turned else "a1a8")
    assert mcts.best_edge().Q == 1.0


def test_s2_10_node_and_edge():
    node = Node(state=chess.STARTING_FEN)
    assert (node.edges, node.N, node.value, node.is_leaf()) == ([], 0, 0.0, True)
    move = chess.Move.from_uci("e2e4")
    after = chess.Board()
    after.push(move)
    assert node.step(move) == after.fen()
    child = Node(node.step(move))
    edge = node.add_child(child, move, 0.25)
    assert type(edge) is Edge and not node.is_leaf()
    assert (edge.input_node, edge.output_node, edge.action) == (node, child, move)
    assert (edge.N, edge.W, edge.P, edge.Q) == (0, 0.0, 0.25, 0.0)
    assert node.get_edge(move) is edge
    assert node.get_edge(chess.Move.from_uci("d2d4")) is None
    grandchild = Node(child.step(chess.Move.from_uci("e7e5")))
    child.add_child(grandchild, chess.Move.from_uci("e7e5"), 0.5)
    assert node.get_all_children() == [child, grandchild]
    same = Node(chess.STARTING_FEN)
    assert node != same  # a position may occur twice in a tree


def test_s2_10_the_upper_confidence_bound_by_hand():
    node = Node(chess.STARTING_FEN)
    edge = node.add_child(Node(), "e2e4", 0.4)
    node.N, edge.N, edge.W = 100, 3, 1.5
    c = 2.0 + np.log((1 + 100 + 20000) / 20000)
    assert edge.upper_confidence_bound() == pytest.approx(0.5 + c * 0.4 * 10 / 4, rel=1e-6)
    assert edge.upper_confidence_bound(1) == edge.upper_confidence_bound()
    mixed = 0.75 * 0.4 + 0.25 * 0.2
    assert edge.upper_confidence_bound(0.2) == pytest.approx(0.5 + c * mixed * 10 / 4, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
def test_s2_21_the_tree_is_kept_across_two_plies(hand):
    mcts = MCTS(HashAgent())
    if hand:
        mcts.expand(mcts.root)
        mcts.root.N += 1
    mcts.run_simulations(300)
    own = mcts.best_edge()
    reply = max(own.output_node.edges, key=lambda edge: edge.N)
    kept, below = reply.N, everything(reply.output_node)
    assert kept > 3
    mcts.advance(own.action, reply.action)
    board = chess.Board()
    board.push(own.action)
    board.push(reply.action)
    assert mcts.root.state == board.fen() and mcts.root.N == kept
    assert everything(mcts.root) == below
    asked = len(mcts.agent.seen)
    mcts.run_simulations(50)
    assert mcts.root.N == kept + 50 and len(mcts.agent.seen) == asked + 50


def test_s2_21_a_line_that_was_not_searched_starts_a_new_tree():
    mcts = MCTS(HashAgent())
    mcts.run_simulations(5)
    mcts.advance("a2a3", "h7h6")
    assert mcts.root.N == 0 and mcts.root.is_leaf()
    mcts.run_simulations(8)
    assert mcts.root.N == 8 and mcts.root.turn == chess.WHITE
    with pytest.raises(IllegalAction, match="not legal"):
        mcts.advance("a2a3")
    assert mcts.root.N == 8


def test_a_tree_that_was_changed_by_hand_is_searched_as_it_is():
    mcts = MCTS(EvenAgent(), THREE_MOVES)
    mcts.run_simulations(4)
    for edge in mcts.root.edges:
        edge.P = 0.98 if edge.action.uci() == "a1b2" else 0.01
    mcts.run_simulations(40)
    assert mcts.root.N == 44 and mcts.root.get_edge(chess.Move.from_uci("a1b2")).N > 35


def test_by_hand_the_tree_goes_on_from_what_the_core_found():
    mcts, core = MCTS(HashAgent(), MATE_IN_ONE), MCTS(HashAgent(), MATE_IN_ONE)
    mcts.run_simulations(100)
    core.run_simulations(160)
    by_hand(mcts, 60)
    assert everything(mcts.root) == everything(core.root)
    for one, two in zip(mcts.root.edges, core.root.edges, strict=True):
        assert one.output_node.value == pytest.approx(two.output_node.value, abs=1e-5)


@pytest.mark.parametrize("fails_at", [1, 8])
def test_an_agent_that_raises_costs_one_simulation(fails_at):
    class Failing(HashAgent):
        def predict(self, planes):
            if len(self.seen) + 1 == fails_at and not self.failed:
                self.failed = True
                raise ConnectionError("the server is gone")
            return super().predict(planes)

        failed = False

    mcts = MCTS(Failing())
    with pytest.raises(ConnectionError, match="server is gone"):
        mcts.run_simulations(20)
    assert (
        mcts.root.N
        == fails_at - 1
        == 1 * bool(mcts.root.edges) + sum(edge.N for edge in mcts.root.edges)
    )
    mcts.run_simulations(21 - fails_at)
    whole = MCTS(HashAgent())
    whole.run_simulations(20)
    assert everything(mcts.root) == everything(whole.root) and mcts.root.N == 20


def test_a_big_tree_is_drawn_without_being_read_as_a_whole(tmp_path, monkeypatch, caplog):
    mcts = MCTS(EvenAgent())
    mcts.run_simulations(1500)
    monkeypatch.setattr(Node, "get_all_children", None)
    with caplog.at_level(logging.INFO):
        mcts.plot_tree(str(tmp_path / "tree.gv"), nodes=30)
    assert "# of nodes in tree: 1500" in caplog.text
    assert len(graph(tmp_path / "tree.gv")[0]) < 60


def test_the_root_stays_the_same_node():
    mcts = MCTS(EvenAgent())
    root = mcts.root
    mcts.run_simulations(10)
    mcts.run_simulations(0)
    assert mcts.root is root and root.N == 10


def test_a_finished_game_and_a_broken_agent():
    with pytest.raises(GameOver, match="finished game"):
        MCTS(EvenAgent(), "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1").run_simulations(5)

    class Short:
        def predict(self, planes):
            return np.ones(100), 0.0

    with pytest.raises(EvaluationError, match="100 probabilities and 1 values: it must give 4672"):
        MCTS(Short()).run_simulations(5)


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
def test_m13_noise_is_drawn_once_and_mixed(hand):
    np.random.seed(3)
    mcts = MCTS(EvenAgent(), MIDDLE_GAME, stochastic=True)
    drawn = set()
    for _ in range(20):
        by_hand(mcts, 3) if hand else mcts.run_simulations(3)
        drawn.add(tuple(edge.P for edge in mcts.root.edges))
    assert len(drawn) == 1
    priors, even = np.array(*drawn), 1 / 48
    eta = (priors - 0.75 * even) / 0.25
    assert len(priors) == 48 and eta.min() > -1e-6 and eta.sum() == pytest.approx(1, abs=1e-5)
    assert eta.max() > 3 * even  # it is Dirichlet noise of 0.3, not even
    child = mcts.best_edge().output_node
    assert np.ptp([edge.P for edge in child.edges]) < 1e-6  # the root alone
    np.random.seed(3)
    quiet = MCTS(EvenAgent(), MIDDLE_GAME)
    quiet.run_simulations(10)
    assert np.allclose([edge.P for edge in quiet.root.edges], even)


@pytest.mark.slow
@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
def test_m13_a_new_root_gets_noise_of_its_own(hand):
    np.random.seed(4)
    mcts = MCTS(EvenAgent(), MIDDLE_GAME, stochastic=True)
    for _ in range(3):
        by_hand(mcts, 80) if hand else mcts.run_simulations(80)
        mcts.advance(mcts.best_edge().action)
        mcts.run_simulations(1)
        even = 1 / len(mcts.root.edges)
        priors = np.array([edge.P for edge in mcts.root.edges])
        assert np.ptp(priors) > 0.01 and priors.sum() == pytest.approx(1, abs=1e-5)
        assert priors.min() >= 0.75 * even - 1e-6  # mixed into the agent's priors once


def test_m14_selection_does_not_stop_after_one_ply():
    mcts = MCTS(HashAgent(), THREE_MOVES)
    mcts.run_simulations(200)
    mcts.game_path = []
    assert mcts.select_child(mcts.root).is_leaf() and len(mcts.game_path) > 2


@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
def test_m15_a_mate_keeps_its_value_and_gets_no_children(hand):
    mcts = MCTS(EvenAgent(value=0.7), MATE_IN_ONE)  # the agent would call the mate good for Black
    by_hand(mcts, 150) if hand else mcts.run_simulations(150)
    mate = mcts.root.get_edge(chess.Move.from_uci("a1a8"))
    assert mate.N > 100 and mate.Q == 1.0
    assert mate.output_node.value == -1.0 and mate.output_node.is_leaf()
    board = chess.Board(MATE_IN_ONE)
    board.push_uci("a1a8")
    unseen = zlib.crc32(
        expand_planes(
            Chess(board.fen(), encoder="planes19").observation()[None], "planes19"
        ).tobytes()
    )
    assert unseen not in mcts.agent.seen and len(mcts.agent.seen) == 150 - mate.N


def test_m16_priors_add_up_to_one_over_the_legal_moves():
    mcts = MCTS(EvenAgent())
    probabilities = np.zeros((73, 8, 8))
    assert mcts.probabilities_to_actions(probabilities, THREE_MOVES) == pytest.approx(
        {"a1a2": 1 / 3, "a1b1": 1 / 3, "a1b2": 1 / 3}
    )
    probabilities[:, 4, 4] = 0.9 / 73  # nothing stands there
    for uci, p in (("a1a2", 0.05), ("a1b1", 0.03), ("a1b2", 0.02)):
        index = code(chess.Move.from_uci(uci), chess.WHITE)
        probabilities[index % 73, 0, 0] = p
    assert mcts.probabilities_to_actions(probabilities, THREE_MOVES) == pytest.approx(
        {"a1a2": 0.5, "a1b1": 0.3, "a1b2": 0.2}
    )


@pytest.mark.parametrize("turned", [False, True], ids=["white", "black"])
@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
def test_m17_a_stalemate_is_a_draw_and_nobodys_win(turned, hand):
    board = chess.Board(STALEMATE_IN_ONE)
    board = board.mirror() if turned else board
    stalemate = chess.Move.from_uci("f8f2" if turned else "f1f7")
    mcts = MCTS(EvenAgent(), board.fen())
    by_hand(mcts, 100) if hand else mcts.run_simulations(100)
    edge = mcts.root.get_edge(stalemate)
    assert edge.N > 0 and edge.W == 0.0 and edge.output_node.value == 0.0
    alone = MCTS(EvenAgent(value=0.9), edge.output_node.state)
    assert alone.expand(alone.root).value == 0.0 and alone.agent.seen == []


def test_m18_every_child_is_drawn_once_under_an_id_of_its_own(tmp_path):
    # Kings that walk back and forth: the same positions occur in many places of the tree.
    mcts = MCTS(EvenAgent(), THREE_MOVES)
    mcts.run_simulations(100)
    below = mcts.root.get_all_children()
    assert len({node.state for node in below}) < len(below)
    mcts.plot_tree(str(tmp_path / "tree.gv"), nodes=None, visits=0)
    nodes, edges = graph(tmp_path / "tree.gv")
    assert len({node["name"] for node in nodes}) == len(nodes) == len(below) + 1
    assert len({edge["head"] for edge in edges}) == len(edges) == len(below)
    edge = mcts.best_edge()
    expected = f"N {edge.N}\\nQ {edge.Q:+.3f}\\nP {edge.P:.4f}"
    root = next(number for number, node in enumerate(nodes) if node["name"] == "n0")
    heads = [e["head"] for e in edges if e["tail"] == root]
    assert expected in [nodes[head]["label"] for head in heads] and len(heads) == 3


@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
@pytest.mark.parametrize(
    ("state", "move"),
    [
        ("8/8/8/8/8/1k6/3p4/3K4 w - - 0 1", "d1d2"),  # leaves two kings
        ("8/8/4k3/8/8/3KP3/8/8 b - - 99 90", "e6d6"),  # the hundredth half-move
    ],
    ids=["material", "fifty moves"],
)
def test_m19_insufficient_material_and_fifty_moves_end_the_game(state, move, hand):
    mcts = MCTS(EvenAgent(value=0.5), state)
    by_hand(mcts, 40) if hand else mcts.run_simulations(40)
    edge = mcts.root.get_edge(chess.Move.from_uci(move))
    assert any(chess.Board(edge.output_node.state).legal_moves)  # it could go on, but is drawn
    assert edge.N > 1 and edge.W == 0.0 and edge.output_node.is_leaf()


@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
def test_m19_repetition_is_seen_by_the_moves_that_led_there(hand):
    game = Chess(moves="Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1")
    back = chess.Move.from_uci("f6g8")
    known, unknown = MCTS(EvenAgent(0.5), game), MCTS(EvenAgent(0.5), game.fen())
    assert MCTS(EvenAgent(), game.board())._game.moves == game.moves
    for mcts in (known, unknown):
        by_hand(mcts, 80) if hand else mcts.run_simulations(80)
    drawn = known.root.get_edge(back)
    assert drawn.N > 0 and drawn.W == 0.0 and drawn.output_node.is_leaf()
    assert not unknown.root.get_edge(back).output_node.is_leaf()  # a FEN has no past
    # Inside the tree: a position that comes up a third time below the root ends the game there.
    mcts = MCTS(EvenAgent(), "7k/8/8/8/8/8/r7/6K1 b - - 0 1")
    node = mcts.root
    for uci in ("a2b2", "g1h1", "b2a2", "h1g1") * 2:
        assert mcts.expand(node).edges
        node = node.get_edge(chess.Move.from_uci(uci)).output_node
    assert mcts.expand(node).is_leaf() and node.value == 0.0


def test_m21_a_state_is_a_complete_position():
    # The search is one for perfect information: it takes nothing less than a whole position.
    for hidden in (
        "????????/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "8/8/8/8/8/8/8/K7 w - - 0 1",
    ):
        with pytest.raises(ValueError, match=r"FEN|king is missing"):
            MCTS(EvenAgent(), hidden)
    with pytest.raises(ConfigError, match="state is a int: give a FEN, Chess or Board"):
        MCTS(EvenAgent(), 5)


@pytest.mark.slow
@pytest.mark.parametrize("hand", [False, True], ids=["core", "by hand"])
@pytest.mark.parametrize("turned", [False, True], ids=["white", "black"])
def test_values_are_for_the_side_to_move_and_w_for_the_player_who_moves(turned, hand):
    """Neither White's view nor a mixture: mirrored positions have the same tree."""
    fen = chess.Board(MIDDLE_GAME).mirror().fen() if turned else MIDDLE_GAME
    mcts = MCTS(EvenAgent(value=0.25), fen)  # whoever is to move is a little better
    by_hand(mcts, 60) if hand else mcts.run_simulations(60)
    tried = [edge for edge in mcts.root.edges if edge.N == 1]
    assert tried and all(edge.W == -0.25 for edge in tried)  # good for the opponent
    deeper = [edge for edge in mcts.root.edges if edge.N == 2]
    assert all(edge.W == 0.0 for edge in deeper)  # -0.25, then +0.25 one ply further down
    assert all(edge.Q == edge.W / edge.N for edge in mcts.root.edges if edge.N)
    assert mcts.root.value == 0.25


def test_constants_are_those_of_the_project():
    assert (CONFIG.c_puct, CONFIG.c_base) == (2.0, 20000.0)
    assert (CONFIG.dirichlet_alpha, CONFIG.dirichlet_fraction) == (0.3, 0.25)
