"""A network server answers as the network would; whatever one client does, others do not notice."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan.errors import ConfigError, EvaluationError, NetworkError, ProtocolError
from sylvan.evaluators import OnnxEvaluator, load_evaluator
from sylvan.evaluators.address import Address
from sylvan.evaluators.network import Inference, NetworkEvaluator
from sylvan.evaluators.remote import RemoteEvaluator
from sylvan.evaluators.serving import NetworkServer
from sylvan.evaluators.wire import HEADER, MAGIC, Kind, Rows, receive
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.networks.header import NetworkHeader
from tests.evaluators.models import linear_model


@pytest.fixture
def address(tmp_path):
    return f"socket:{tmp_path}/n"


def network(game, value="scalar"):
    return OnnxEvaluator(linear_model(game, value)[0], threads=1, deterministic=True)


def visits(evaluator, game, **settings):
    result = sylvan.search(game, evaluator=evaluator, simulations=60, **settings)
    return [(edge.action, edge.N, edge.Q, edge.P) for edge in result.tree.root.edges]


class Slow(NetworkEvaluator):
    """Counts the rows of each batch; waits in a batch while `gate` is closed."""

    def __init__(self):
        super().__init__(NetworkHeader.for_game(TicTacToe(), value="scalar"))
        self.gate = threading.Event()
        self.sizes = []

    def forward(self, observations):
        self.sizes.append(len(observations))
        assert self.gate.wait(20)
        if observations.sum() > 100:  # only a client of the tests sends such numbers
            raise ValueError("too bright")
        policy = observations.reshape(len(observations), -1)[:, :9]
        return Inference(policy, policy[:, :1], None)


def board(seed):
    return np.random.default_rng(seed).normal(size=(1, 2, 3, 3)).astype(np.float32)


# --- the same answers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "value"),
    [
        (TicTacToe(), "wdl"),
        (TicTacToe(), "seats"),
        (ConnectFour(), "scalar"),
        (Chess(encoder="planes18"), "wdl"),
    ],
    ids=["wdl", "seats", "scalar", "packed planes"],
)
def test_a_search_is_that_of_the_network_itself(game, value, address):
    local = network(game, value)
    with NetworkServer(local, address):
        assert visits(address, game) == visits(local, game)
        remote = load_evaluator(address, cache_bytes=2**20)
        assert visits(remote, game) == visits(local, game)
        seen = np.stack([game.observation()] * 3)
        for found, wanted in zip(remote.infer(seen), local.infer(seen), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert remote.header == local.header


def test_a_port_of_this_machine_serves_too():
    with NetworkServer(network(TicTacToe()), "socket:127.0.0.1:0") as server:
        assert server.address.port > 0
        assert visits(str(server.address), TicTacToe()) == visits(network(TicTacToe()), TicTacToe())


def test_batches_larger_than_a_message_are_sent_in_parts(address, monkeypatch):
    monkeypatch.setattr("sylvan.evaluators.wire.MOST_ROWS", 5)
    local = network(ConnectFour())
    with NetworkServer(local, address) as server:
        states = [ConnectFour([column]) for column in range(7)] * 2
        config = sylvan.SearchConfig(simulations=8)
        found = []
        for evaluator in (RemoteEvaluator(address), local):
            forest = sylvan.Forest(states, config)
            forest.run(evaluator)
            found.append([result.policy.tolist() for result in forest.results()])
        assert found[0] == found[1] and server.counts.questions > 2 * 8


def test_clients_share_batches_and_get_their_own_answers(address):
    slow = Slow()
    with NetworkServer(slow, address):
        found = {}

        def ask(seed):
            with contextlib.closing(RemoteEvaluator(address)) as remote:
                found[seed] = remote(Single(board(seed)))

        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(5)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)  # one question is evaluated, the others gather
        slow.gate.set()
        for thread in threads:
            thread.join(20)
        assert sum(slow.sizes) == 5 and len(slow.sizes) < 5
        for seed, (logits, value) in found.items():
            np.testing.assert_array_equal(logits, board(seed).reshape(-1)[[0, 4]])
            np.testing.assert_array_equal(value, board(seed).reshape(-1)[:1])


class Single:
    """One leaf with the legal actions 0 and 4."""

    num_logits = 9

    def __init__(self, observations):
        self.observations = observations
        self.offsets, self.logit_indices = np.array([0, 2]), np.array([0, 4])

    def __len__(self):
        return 1


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "socket:",
        "socket:8.8.8.8:80",
        "socket:example.org:80",
        "socket:localhost:http",
        "socket:127.0.0.1:65536",
        "socket:/" + "x" * 120,
    ],
)
def test_an_address_elsewhere_or_unusable_is_refused(text):
    with pytest.raises(ConfigError, match=text[7:].rpartition(":")[2] or "socket"):
        Address.parse(text)


def test_nobody_at_an_address_is_said(address):
    for evaluator in (address, "socket:127.0.0.1:9"):
        with pytest.raises(NetworkError, match=evaluator):
            sylvan.search(TicTacToe(), evaluator=evaluator, simulations=1)


def test_an_address_is_taken_once_and_given_back(address, tmp_path):
    with NetworkServer(network(TicTacToe()), address):
        assert (tmp_path / "n").stat().st_mode & 0o777 == 0o600
        with pytest.raises(ConfigError, match="already"):
            NetworkServer(network(TicTacToe()), address)
        assert visits(address, TicTacToe())  # and the first one still serves
    assert not (tmp_path / "n").exists()
    (tmp_path / "n").write_text("notes")
    with pytest.raises(ConfigError, match=r"in use|exists"):
        NetworkServer(network(TicTacToe()), address)
    assert (tmp_path / "n").read_text() == "notes"


def test_the_socket_of_a_killed_server_is_replaced(address, tmp_path):
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "n"))
    dead.close()
    with NetworkServer(network(TicTacToe()), address):
        assert visits(address, TicTacToe())


@pytest.mark.parametrize("what", ["material", lambda leaves: leaves])
def test_only_networks_are_served(what, address, tmp_path):
    with pytest.raises(ConfigError, match="network"):
        NetworkServer(what, address)
    assert not (tmp_path / "n").exists()


# --- bad clients ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server of tic-tac-toe, its address, and what its network says of `board(5)`."""
    address = f"socket:{tmp_path_factory.mktemp('served')}/n"
    local = network(TicTacToe())
    with (
        NetworkServer(local, address) as server,
        contextlib.closing(RemoteEvaluator(address)) as good,
    ):
        yield server, address, good, local.infer(board(5)).policy


def message(kind=Kind.EVALUATE, packed=0, rows=1, actions=2, contents=None, length=None):
    if contents is None:
        numbers = np.array([actions, *range(actions)], np.uint32)
        contents = board(0).tobytes() + numbers.tobytes()
    length = len(contents) if length is None else length
    return HEADER.pack(MAGIC, 1, kind, packed, rows, actions, length) + contents


NUMBERS = np.array([2, 0, 9], np.uint32).tobytes()
BAD = {
    "another magic": b"HTTP" + message()[4:],
    "another version": message()[:4] + b"\x02" + message()[5:],
    "a kind of the server": message(kind=Kind.EVALUATED),
    "an unknown kind": message(kind=77),
    "packed where nothing is": message(packed=1),
    "no rows": message(rows=0),
    "too many rows": message(rows=2**31),
    "too long": message(length=2**40),
    "shorter than its rows": message(rows=2),
    "fewer actions than stated": message(
        actions=3, contents=board(0).tobytes() + np.array([2, 0, 1, 2], np.uint32).tobytes()
    ),
    "an index that is no logit": message(contents=board(0).tobytes() + NUMBERS),
    "counts that overflow": message(
        rows=2,
        contents=board(0).tobytes() * 2 + np.array([2**32 - 1, 3, 0, 1], np.uint32).tobytes(),
    ),
}


def check_served(served):
    server, _, good, expected = served
    np.testing.assert_array_equal(good.infer(board(5)).policy, expected)
    assert not server._closed


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_bad_message_gets_a_sentence_and_hurts_nobody(served, data):
    with contextlib.closing(Address.parse(served[1]).connect()) as bad:
        bad.settimeout(10)
        receive(bad, [Kind.WELCOME])
        bad.sendall(data)
        answer = receive(bad, [Kind.REFUSED])
        sentence = bytes(answer.contents).decode()
        assert sentence.endswith(".") and "Traceback" not in sentence
        with contextlib.suppress(ConnectionError):
            assert receive(bad, [Kind.REFUSED]) is None  # then it hangs up
    check_served(served)


@given(data=st.binary(max_size=200), cut=st.integers(0, 200), whole=st.booleans())
def test_random_bytes_hurt_nobody(served, data, cut, whole):
    connection = Address.parse(served[1]).connect()
    with contextlib.closing(connection) as bad, contextlib.suppress(ConnectionError):
        bad.sendall((message() if whole else message()[:cut]) + data)
    check_served(served)


def test_a_client_that_stops_inside_a_message_or_reads_nothing_hurts_nobody(served):
    with contextlib.ExitStack() as stack:
        for data in (message()[:30], message() * 3000):
            bad = stack.enter_context(contextlib.closing(Address.parse(served[1]).connect()))
            bad.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while data:
                    data = data[bad.send(data) :]
        check_served(served)


def test_a_question_that_the_network_refuses_concerns_only_its_client(address):
    slow = Slow()
    with NetworkServer(slow, address) as server:
        bright, others = RemoteEvaluator(address), [RemoteEvaluator(address) for _ in range(3)]
        found = {}

        def ask(name, remote, observations):
            try:
                found[name] = remote(Single(observations))
            except EvaluationError as error:
                found[name] = str(error)

        questions = [(seed, remote, board(seed)) for seed, remote in enumerate(others)]
        questions.append(("bright", bright, board(9) + 100))
        threads = [threading.Thread(target=ask, args=question) for question in questions]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        slow.gate.set()
        for thread in threads:
            thread.join(20)
        assert "too bright" in found.pop("bright")
        for seed, (logits, _) in found.items():
            np.testing.assert_array_equal(logits, board(seed).reshape(-1)[[0, 4]])
        assert server.counts.refused == 1
        np.testing.assert_array_equal(bright(Single(board(1)))[0], found[1][0])  # connects again
        for remote in (bright, *others):
            remote.close()


def test_observations_of_another_shape_are_refused_before_they_are_sent(served):
    with pytest.raises(EvaluationError, match=r"\(4, 3, 3\)"):
        served[2].infer(np.zeros((4, 3, 3), np.float32))
    check_served(served)


def test_a_search_of_another_game_is_refused(served):
    with pytest.raises(EvaluationError, match="7"):
        sylvan.search(ConnectFour(), evaluator=served[1], simulations=4)
    check_served(served)


# --- ends -----------------------------------------------------------------------------------------


def test_a_server_that_ends_is_one_clear_error_and_may_return(address):
    server = NetworkServer(network(TicTacToe()), address, fingerprint="a")
    remote = RemoteEvaluator(address)
    server.close()
    with pytest.raises(EvaluationError, match=address):
        remote(Single(board(0)))
    with pytest.raises(NetworkError, match=address):
        remote(Single(board(0)))
    with NetworkServer(network(TicTacToe()), address, fingerprint="a"):
        assert remote(Single(board(0)))[0].shape == (2,)
    remote.close()
    with (
        NetworkServer(network(TicTacToe()), address, fingerprint="b"),
        pytest.raises(EvaluationError, match="another network"),
    ):
        remote(Single(board(0)))


def test_ctrl_c_leaves_no_half_answer_behind(served, monkeypatch):
    with contextlib.closing(RemoteEvaluator(served[1])) as remote:
        expected = remote(Single(board(1)))[0]

        def interrupted(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("sylvan.evaluators.remote.receive", interrupted)
            with pytest.raises(KeyboardInterrupt):
                remote(Single(board(2)))
        np.testing.assert_array_equal(remote(Single(board(1)))[0], expected)


def test_closing_answers_those_that_wait(address):
    slow = Slow()
    server = NetworkServer(slow, address)
    remotes = [RemoteEvaluator(address) for _ in range(3)]
    errors = []

    def ask(remote):
        try:
            remote(Single(board(0)))
        except EvaluationError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(remote,)) for remote in remotes]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    closing = threading.Thread(target=server.close)
    closing.start()
    time.sleep(0.2)
    slow.gate.set()
    for thread in (*threads, closing):
        thread.join(20)
    assert len(errors) == 3 and not closing.is_alive()


@pytest.mark.parametrize(
    "welcome",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 30,
        message(Kind.WELCOME, contents=b"{}"),
        message(Kind.WELCOME, contents=b'{"header": []}'),
        message(Kind.REFUSED, contents=b"No."),
    ],
)
def test_something_else_at_the_address_is_no_network(address, tmp_path, welcome):
    with contextlib.closing(Address.parse(address).listen()) as listener:

        def answer():
            connection, _ = listener.accept()
            connection.sendall(welcome)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(NetworkError, match=address):
            RemoteEvaluator(address)
        thread.join()


def test_a_copied_evaluator_has_a_connection_of_its_own(served):
    copy = pickle.loads(pickle.dumps(served[2]))  # noqa: S301 (our own bytes)
    assert copy._socket is not served[2]._socket and copy.header == served[2].header
    copy.close()
    check_served(served)


def test_a_message_that_cannot_hold_a_position_is_refused():
    header = NetworkHeader.for_game(TicTacToe(), value="scalar")
    with pytest.raises(ConfigError, match=str(2 * 10**8)):
        Rows(header.replace(observation_shape=(2 * 10**8,)))
    with pytest.raises(ProtocolError):
        Rows(header).observations(1, packed=True)


# --- processes ------------------------------------------------------------------------------------


def search_forever(address, ready):
    while True:
        sylvan.search(TicTacToe(), evaluator=address, simulations=300, proofs=False)
        ready.set()


def serve_until_killed(address, ready):
    with NetworkServer(network(TicTacToe()), address):
        ready.set()
        time.sleep(60)


@pytest.mark.slow
def test_a_client_that_is_killed_hurts_nobody(served):
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    client = spawn.Process(target=search_forever, args=(served[1], ready))
    client.start()
    assert ready.wait(60)
    os.kill(client.pid, signal.SIGKILL)
    client.join()
    check_served(served)


@pytest.mark.slow
def test_a_server_that_is_killed_is_one_clear_error(address):
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    server = spawn.Process(target=serve_until_killed, args=(address, ready))
    server.start()
    assert ready.wait(60)
    remote = RemoteEvaluator(address)
    assert remote(Single(board(0)))[0].shape == (2,)
    os.kill(server.pid, signal.SIGKILL)
    server.join()
    with pytest.raises(EvaluationError, match=address):
        remote(Single(board(0)))
