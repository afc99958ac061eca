"""AMQP 0-9-1 in bytes, both directions, written apart from the broker and from every client library.

The black-box tests need a client that can send what no library would (and see what libraries hide), so this is the protocol as a
table of methods plus the two dozen lines that pack it. Nothing here opens a socket; see `wire`.

    frame   | kind u8 | channel u16 | length u32 | payload … | 0xCE |
    method  | class u16 | method u16 | arguments … |             consecutive bits share an octet, lowest first
    header  | class u16 | weight u16 | body length u64 | flags u16 | properties … |
"""

import struct
from typing import Any, NamedTuple

PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
FRAME_END = 0xCE

# name:type with B u8, H u16, I u32, Q u64, s short string, S long string, T table, b bit
_METHODS = """
10 10 connection.start version_major:B version_minor:B server_properties:T mechanisms:S locales:S
10 11 connection.start-ok client_properties:T mechanism:s response:S locale:s
10 20 connection.secure challenge:S
10 21 connection.secure-ok response:S
10 30 connection.tune channel_max:H frame_max:I heartbeat:H
10 31 connection.tune-ok channel_max:H frame_max:I heartbeat:H
10 40 connection.open virtual_host:s reserved_1:s reserved_2:b
10 41 connection.open-ok reserved_1:s
10 50 connection.close reply_code:H reply_text:s failing_class:H failing_method:H
10 51 connection.close-ok
10 60 connection.blocked reason:s
10 61 connection.unblocked
10 70 connection.update-secret new_secret:S reason:s
10 71 connection.update-secret-ok
20 10 channel.open reserved_1:s
20 11 channel.open-ok reserved_1:S
20 20 channel.flow active:b
20 21 channel.flow-ok active:b
20 40 channel.close reply_code:H reply_text:s failing_class:H failing_method:H
20 41 channel.close-ok
30 10 access.request realm:s exclusive:b passive:b active:b write:b read:b
30 11 access.request-ok ticket:H
40 10 exchange.declare ticket:H exchange:s type:s passive:b durable:b auto_delete:b internal:b nowait:b arguments:T
40 11 exchange.declare-ok
40 20 exchange.delete ticket:H exchange:s if_unused:b nowait:b
40 21 exchange.delete-ok
40 30 exchange.bind ticket:H destination:s source:s routing_key:s nowait:b arguments:T
40 31 exchange.bind-ok
40 40 exchange.unbind ticket:H destination:s source:s routing_key:s nowait:b arguments:T
40 51 exchange.unbind-ok
50 10 queue.declare ticket:H queue:s passive:b durable:b exclusive:b auto_delete:b nowait:b arguments:T
50 11 queue.declare-ok queue:s message_count:I consumer_count:I
50 20 queue.bind ticket:H queue:s exchange:s routing_key:s nowait:b arguments:T
50 21 queue.bind-ok
50 30 queue.purge ticket:H queue:s nowait:b
50 31 queue.purge-ok message_count:I
50 40 queue.delete ticket:H queue:s if_unused:b if_empty:b nowait:b
50 41 queue.delete-ok message_count:I
50 50 queue.unbind ticket:H queue:s exchange:s routing_key:s arguments:T
50 51 queue.unbind-ok
60 10 basic.qos prefetch_size:I prefetch_count:H global_:b
60 11 basic.qos-ok
60 20 basic.consume ticket:H queue:s consumer_tag:s no_local:b no_ack:b exclusive:b nowait:b arguments:T
60 21 basic.consume-ok consumer_tag:s
60 30 basic.cancel consumer_tag:s nowait:b
60 31 basic.cancel-ok consumer_tag:s
60 40 basic.publish ticket:H exchange:s routing_key:s mandatory:b immediate:b
60 50 basic.return reply_code:H reply_text:s exchange:s routing_key:s
60 60 basic.deliver consumer_tag:s delivery_tag:Q redelivered:b exchange:s routing_key:s
60 70 basic.get ticket:H queue:s no_ack:b
60 71 basic.get-ok delivery_tag:Q redelivered:b exchange:s routing_key:s message_count:I
60 72 basic.get-empty cluster_id:s
60 80 basic.ack delivery_tag:Q multiple:b
60 90 basic.reject delivery_tag:Q requeue:b
60 100 basic.recover-async requeue:b
60 110 basic.recover requeue:b
60 111 basic.recover-ok
60 120 basic.nack delivery_tag:Q multiple:b requeue:b
85 10 confirm.select nowait:b
85 11 confirm.select-ok
90 10 tx.select
90 11 tx.select-ok
90 20 tx.commit
90 21 tx.commit-ok
90 30 tx.rollback
90 31 tx.rollback-ok
"""

# The order of the property flags, from bit 15 down.
_PROPERTIES = [
    ("content_type", "s"), ("content_encoding", "s"), ("headers", "T"), ("delivery_mode", "B"), ("priority", "B"),
    ("correlation_id", "s"), ("reply_to", "s"), ("expiration", "s"), ("message_id", "s"), ("timestamp", "Q"),
    ("type", "s"), ("user_id", "s"), ("app_id", "s"), ("cluster_id", "s"),
]  # fmt: skip

_DEFAULTS = {"B": 0, "H": 0, "I": 0, "Q": 0, "s": "", "S": b"", "T": {}, "b": False}


def _read_methods() -> dict:
    methods = {}
    for line in _METHODS.strip().splitlines():
        class_id, method_id, name, *arguments = line.split()
        methods[int(class_id), int(method_id)] = (name, [tuple(argument.split(":")) for argument in arguments])
    return methods


METHODS = _read_methods()
_IDS = {name: ids for ids, (name, _) in METHODS.items()}


class Frame(NamedTuple):
    """One frame as it came."""

    kind: int
    channel: int
    payload: bytes


class Method:
    """A decoded method: its name, its channel, and its arguments as attributes."""

    def __init__(self, name: str, channel: int, arguments: dict):
        self.name, self.channel, self.arguments = name, channel, arguments
        self.__dict__.update(arguments)

    def __repr__(self) -> str:
        return f"{self.name}@{self.channel}{self.arguments}"


class ContentHeader(NamedTuple):
    """What a content header says."""

    class_id: int
    body_len: int
    properties: dict


def ids(name: str) -> tuple[int, int]:
    """Class and method numbers of `name`, which are also what `failing_class` and `failing_method` hold."""
    return _IDS[name]


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """A whole frame."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes([FRAME_END])


def method(channel: int, name: str, **arguments: Any) -> bytes:
    """A method frame; arguments not given are zero, empty or false."""
    class_id, method_id = _IDS[name]
    _, shape = METHODS[class_id, method_id]
    unknown = arguments.keys() - {argument for argument, _ in shape}
    assert not unknown, f"{name} has no argument {unknown}"
    payload = bytearray(struct.pack(">HH", class_id, method_id))
    bits = []
    for argument, kind in shape:
        value = arguments.get(argument, _DEFAULTS[kind])
        if kind == "b":
            bits.append(bool(value))
            continue
        payload += _pack_bits(bits)
        payload += _pack(kind, value)
    payload += _pack_bits(bits)
    return frame(METHOD, channel, bytes(payload))


def header(channel: int, body_len: int, class_id: int = 60, **properties: Any) -> bytes:
    """A content header frame with the properties given."""
    flags, values = 0, bytearray()
    for position, (name, kind) in enumerate(_PROPERTIES):
        if properties.get(name) is None:
            continue
        flags |= 1 << (15 - position)
        values += _pack(kind, properties[name])
    return frame(HEADER, channel, struct.pack(">HHQH", class_id, 0, body_len, flags) + bytes(values))


def content(channel: int, body: bytes, frame_max: int = 131072, **properties: Any) -> bytes:
    """Header and body frames, the body cut so that no frame exceeds `frame_max`."""
    out = bytearray(header(channel, len(body), **properties))
    piece = (frame_max or 131072) - 8
    for start in range(0, len(body), piece):
        out += frame(BODY, channel, body[start : start + piece])
    return bytes(out)


def publish(channel: int, exchange: str, routing_key: str, body: bytes, *, mandatory: bool = False, **properties: Any) -> bytes:
    """basic.publish with its content, in one piece."""
    return method(channel, "basic.publish", exchange=exchange, routing_key=routing_key, mandatory=mandatory) + content(channel, body, **properties)


def decode_method(channel: int, payload: bytes) -> Method:
    """A method frame's payload, taken apart; whatever is left over is an error."""
    name, shape = METHODS[struct.unpack_from(">HH", payload)]
    at, bit, octet = 4, 8, 0
    arguments = {}
    for argument, kind in shape:
        if kind == "b":
            if bit == 8:
                octet, at, bit = payload[at], at + 1, 0
            arguments[argument] = bool(octet >> bit & 1)
            bit += 1
            continue
        bit = 8
        arguments[argument], at = _unpack(kind, payload, at)
    assert at == len(payload), f"{name} has {len(payload) - at} bytes too many"
    return Method(name, channel, arguments)


def decode_header(payload: bytes, *, with_types: bool = False) -> ContentHeader:
    """A content header frame's payload, taken apart; `with_types` renders each field of a table as its type octet and value: `l:1`."""
    class_id, weight, body_len, flags = struct.unpack_from(">HHQH", payload)
    assert weight == 0, f"the weight of a content header must be 0, not {weight}"
    at, properties = 14, {}
    for position, (name, kind) in enumerate(_PROPERTIES):
        if flags >> (15 - position) & 1:
            properties[name], at = _unpack(kind, payload, at, with_types)
    assert at == len(payload), f"a content header has {len(payload) - at} bytes too many"
    return ContentHeader(class_id, body_len, properties)


def table(values: dict) -> bytes:
    """A field table with its length before it."""
    out = bytearray()
    for name, value in values.items():
        out += _pack("s", name) + field(value)
    return struct.pack(">I", len(out)) + bytes(out)


class Raw(bytes):
    """A field value that is already encoded, type octet included."""


def field(value: Any) -> bytes:
    """One field value with its type octet: the types that clients send most for Python's own."""
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, bool):
        return b"t" + bytes([value])
    if isinstance(value, int):
        return b"I" + struct.pack(">i", value) if -(2**31) <= value < 2**31 else b"l" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"d" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"S" + _pack("S", value.encode())
    if isinstance(value, bytes):
        return b"S" + _pack("S", value)
    if value is None:
        return b"V"
    if isinstance(value, dict):
        return b"F" + table(value)
    if isinstance(value, (list, tuple)):
        items = b"".join(field(item) for item in value)
        return b"A" + struct.pack(">I", len(items)) + items
    raise TypeError(f"no field type for {value!r}")


def _pack_bits(bits: list) -> bytes:
    octets = bytes(sum(bit << position for position, bit in enumerate(bits[start : start + 8])) for start in range(0, len(bits), 8))
    bits.clear()
    return octets


def _pack(kind: str, value: Any) -> bytes:
    if kind in "BHIQ":
        return struct.pack(">" + kind, value)
    if kind == "T":
        return bytes(value) if isinstance(value, Raw) else table(value)
    text = value.encode() if isinstance(value, str) else value
    return struct.pack(">B" if kind == "s" else ">I", len(text)) + text


def _unpack(kind: str, data: bytes, at: int, with_types: bool = False) -> tuple[Any, int]:
    if kind in "BHIQ":
        return struct.unpack_from(">" + kind, data, at)[0], at + struct.calcsize(">" + kind)
    if kind == "s":
        end = at + 1 + data[at]
        return data[at + 1 : end].decode(errors="surrogateescape"), end
    length = struct.unpack_from(">I", data, at)[0]
    start, end = at + 4, at + 4 + length
    assert end <= len(data), "a long string or table runs over the end of its frame"
    return (data[start:end] if kind == "S" else _unpack_table(data, start, end, with_types)), end


def _unpack_table(data: bytes, at: int, end: int, with_types: bool = False) -> dict:
    values = {}
    while at < end:
        name, at = _unpack("s", data, at)
        values[name], at = _unpack_field(data, at, with_types)
    assert at == end, "a field table runs over its own length"
    return values


_FIXED = {
    "t": ">?", "b": ">b", "B": ">B", "s": ">h", "u": ">H", "I": ">i", "i": ">I", "l": ">q", "L": ">q", "f": ">f", "d": ">d", "T": ">Q",
}  # fmt: skip


def _unpack_field(data: bytes, at: int, with_types: bool = False) -> tuple[Any, int]:
    if with_types and chr(data[at]) not in "FA":
        value, end = _unpack_field(data, at)
        return f"{chr(data[at])}:{value}", end
    kind, at = chr(data[at]), at + 1
    if kind in _FIXED:
        return struct.unpack_from(_FIXED[kind], data, at)[0], at + struct.calcsize(_FIXED[kind])
    if kind == "V":
        return None, at
    if kind == "D":
        scale, number = struct.unpack_from(">Bi", data, at)
        return number / 10**scale, at + 5
    if kind in "Sx":
        value, at = _unpack("S", data, at)
        return (value if kind == "x" else value.decode(errors="surrogateescape")), at
    length = struct.unpack_from(">I", data, at)[0]
    start, end = at + 4, at + 4 + length
    if kind == "F":
        return _unpack_table(data, start, end, with_types), end
    assert kind == "A", f"unknown field type {kind!r}"
    values = []
    while start < end:
        value, start = _unpack_field(data, start, with_types)
        values.append(value)
    return values, end
