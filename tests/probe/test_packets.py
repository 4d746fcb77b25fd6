"""What the agent says is told from what a script writes into the same pipe."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from torch_doctor.probe.agent.packets import LARGEST, MARK, Packer, Unpacker, key_of

KEY = key_of("secret")
LINE = b'{"t":"event","e":"Stepped"}\n'


@given(data=st.binary(max_size=3 * LARGEST), pieces=st.lists(st.integers(1, 5000), max_size=9))
def test_what_was_packed_comes_out_in_whatever_pieces_it_arrives(data: bytes, pieces: list[int]) -> None:
    packets = Packer(KEY).packets(data)
    assert all(len(packet) <= LARGEST for packet in packets)
    sent, unpacker, read = b"".join(packets), Unpacker(KEY), b""
    for size in (*pieces, len(sent)):
        read += unpacker.take(sent[:size])
        sent = sent[size:]
    assert read == data
    assert (unpacker.foreign, unpacker.torn) == (0, False)


@pytest.mark.parametrize(
    "foreign",
    [
        LINE,
        MARK,
        MARK + b"0 9 " + b"0" * 32 + b" " + b"0" * 32 + b"\n" + LINE,
        MARK + b"x" * 300,
        b"\n\n" + MARK + b"\n",
        b"".join(Packer(key_of("guessed")).packets(LINE)),
        b"".join(Packer(KEY).packets(LINE)),
    ],
    ids=["a line", "a mark", "a head", "a long head", "breaks", "another key", "told again"],
)
def test_what_others_write_between_packets_is_left_out(foreign: bytes) -> None:
    packer, unpacker = Packer(KEY), Unpacker(KEY)
    first, second = packer.packets(b"one\n"), packer.packets(b"two\n")
    assert unpacker.take(b"".join([*first, foreign, *second])) == b"one\ntwo\n"
    assert unpacker.foreign == len(foreign)
    assert not unpacker.torn


@given(place=st.integers(0, 100), foreign=st.binary(min_size=1, max_size=9))
def test_a_packet_that_somebody_wrote_into_ends_what_can_be_read(place: int, foreign: bytes) -> None:
    packer = Packer(KEY)
    first, second, third = (b"".join(packer.packets(text)) for text in (b"one\n", LINE, b"three\n"))
    place = 1 + place % (len(second) - 1)
    written = second[:place] + foreign + second[place:]
    assume(not written.startswith(second))  # a line break before the last one lies behind the packet
    unpacker = Unpacker(KEY)
    assert unpacker.take(first + written + third) == b"one\n"
    assert unpacker.torn


def test_a_packet_that_is_missing_ends_what_can_be_read() -> None:
    packer, unpacker = Packer(KEY), Unpacker(KEY)
    packets = [b"".join(packer.packets(text)) for text in (b"one\n", b"two\n", b"three\n", b"four\n")]
    assert unpacker.take(packets[0] + packets[2] + packets[3]) == b"one\n"
    assert unpacker.torn


def test_each_process_has_a_key_of_its_own() -> None:
    assert len({key_of("secret"), key_of("secret", 0), key_of("secret", 1), key_of("other")}) == 4
