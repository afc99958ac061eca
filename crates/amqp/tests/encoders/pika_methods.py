#!/usr/bin/env python3
"""Writes pika-methods.txt beside this script: every method as pika encodes it.

A line is the payload in hex, the method's name, and its arguments with their values. Bits are set one at a time, so that
each is seen in its place. Names and kinds of arguments come from protocol/amqp0-9-1.txt, positions from pika.
"""

import pathlib

import pika
from pika import spec

HERE = pathlib.Path(__file__).resolve().parent
PROTOCOL = HERE.parents[1] / "protocol" / "amqp0-9-1.txt"
INTEGER_LEN = {"octet": 1, "short": 2, "long": 4, "longlong": 8}


def methods():
    for line in PROTOCOL.read_text().splitlines():
        if line.startswith("class "):
            _, class_id, class_name = line.split()
        elif line and line[0].isdigit():
            head, _, arguments = line.partition(":")
            method_id, name = head.split()[:2]
            pairs = [argument.split() for argument in arguments.split(",") if argument.strip()]
            yield int(class_id), int(method_id), f"{class_name}.{name}", [(k, n.rstrip("!")) for k, n in pairs]


def attribute(method, name):
    for candidate in (name.replace("-", "_"), name.replace("-", ""), name + "_", name + "_qos"):
        if hasattr(method, candidate):
            return candidate
    raise AttributeError(f"{method.NAME} has no {name}")


def line(class_id, method_id, name, arguments, bit):
    kind_of_method = spec.methods[class_id << 16 | method_id]
    method = kind_of_method(*[None] * (kind_of_method.__init__.__code__.co_argcount - 1))
    shown = []
    for at, (kind, argument) in enumerate(arguments):
        if kind == "bit":
            value, text = argument == bit, str(argument == bit).lower()
        elif kind in INTEGER_LEN:
            value = int.from_bytes(bytes(range(at + 1, at + 1 + INTEGER_LEN[kind])), "big")
            text = str(value)
        elif kind == "table":
            value, text = {"k": f"the-{argument}"}, f"the-{argument}"
        else:
            value = text = f"the-{argument}"
        setattr(method, attribute(method, argument), value)
        shown.append(f"{argument}={text}")
    payload = class_id.to_bytes(2, "big") + method_id.to_bytes(2, "big") + b"".join(method.encode())
    return " ".join([payload.hex(), name] + shown)


def main():
    lines = [f"# Written by pika_methods.py with pika {pika.__version__}."]
    for class_id, method_id, name, arguments in methods():
        bits = [argument for kind, argument in arguments if kind == "bit"]
        lines += [line(class_id, method_id, name, arguments, bit) for bit in bits or [None]]
    (HERE / "pika-methods.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
