"""The wire format: messages are read back, and bad bytes raise only `Malformed`."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.networks.protobuf import Malformed, Message, encode, read
from tests.networks.lc0.files import net_class

numbers = st.integers(1, 2**29 - 1)
scalars = st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=40), st.text(max_size=20))
fields = st.dictionaries(numbers, st.one_of(scalars, st.lists(scalars, min_size=1)), max_size=6)


def plain(value):
    return bytes(value) if isinstance(value, memoryview) else value


@given(fields)
def test_fields_are_read_back(fields):
    message = read(encode(fields))
    assert set(message) == set(fields)
    for number, values in fields.items():
        wanted = values if isinstance(values, list) else [values]
        wanted = [value.encode() if isinstance(value, str) else value for value in wanted]
        assert [plain(value) for value in message[number]] == wanted


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_malformed(data):
    try:
        message = read(data)
    except Malformed:
        return
    assert all(values for values in message.values())


def test_messages_match_google_protobuf():
    net = net_class()(magic=0x1C0, license="é", training_params={"training_steps": 2**32 - 1})
    layer = net.weights.ip_pol_b
    layer.min_val, layer.max_val, layer.params = -1.5, 2.25, b"abcd"
    ours = {
        2: "é",
        5: {1: 2**32 - 1},
        10: {5: {1: -1.5, 2: 2.25, 3: b"abcd"}},
    }
    parsed = net_class().FromString(b"\x0d\xc0\x01\0\0" + encode(ours))
    assert parsed == net
    message = read(net.SerializeToString())
    assert message.integer(1) == 0x1C0 and bytes(message.data(2)) == "é".encode()
    inner = message.message(10).message(5)
    assert (inner.floating(1), inner.floating(2), bytes(inner.data(3))) == (-1.5, 2.25, b"abcd")


def test_absent_fields_are_empty():
    message = Message()
    assert message.integer(1) == 0 and message.integer(1, 7) == 7 and message.floating(2) == 0.0
    assert bytes(message.data(3)) == b"" and message.message(4) == {} and message.messages(5) == []
    assert message == {}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x80", "number"),
        (b"\x08" + b"\xff" * 10, "long"),
        (b"\x0b", "type 3"),
        (b"\x12\x05abc", r"field 2.*byte 2"),
        (b"\x0d\x01\x02", r"field 1.*byte 1"),
    ],
)
def test_the_error_gives_the_position_of_malformed_bytes(data, reason):
    with pytest.raises(Malformed, match=reason):
        read(data)


def test_fields_of_another_type_are_malformed():
    message = read(encode({1: 5, 2: b"abc"}))
    for wrong in (
        lambda: message.data(1),
        lambda: message.message(1),
        lambda: message.messages(1),
        lambda: message.floating(1),
        lambda: message.floating(2),
    ):
        with pytest.raises(Malformed):
            wrong()
    assert struct.unpack("<f", encode({1: 1.0})[1:])[0] == 1.0
