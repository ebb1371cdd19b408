"""Digests and hashes. `hash` and `xxhash64` are equal to Spark's, bit by bit.

Both walk over their arguments and feed each result as the seed of the next, so
that a struct hashes like its fields and NULL leaves the seed as it is.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.functions.cast import WIDE
from thalweg.functions.registry import (
    Compute,
    Kind,
    Nulls,
    Signature,
    scalar,
    scalar_by_type,
    takes,
    wrong_count,
)
from thalweg.plan.expressions import Expression
from thalweg.types import (
    BIGINT,
    BINARY,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructType,
    Type,
)

_SEED = 42

# Digests


@scalar("md5", resolve=takes(BINARY, gives=STRING))
def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


@scalar("sha", "sha1", resolve=takes(BINARY, gives=STRING))
def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


_SHA2 = {
    0: hashlib.sha256,
    224: hashlib.sha224,
    256: hashlib.sha256,
    384: hashlib.sha384,
    512: hashlib.sha512,
}


@scalar("sha2", resolve=takes(BINARY, INT, gives=STRING))
def _sha2(data: bytes, bits: int) -> str | None:
    """NULL if there is no digest of so many bits; 0 means 256."""
    return _SHA2[bits](data).hexdigest() if bits in _SHA2 else None


@scalar("crc32", resolve=takes(BINARY, gives=BIGINT))
def _crc32(data: bytes) -> int:
    return zlib.crc32(data)


# Hashes of any values


@dataclass(frozen=True, slots=True)
class _Hash:
    """A hash function, by the shape of what it is fed: 4 bytes, 8 bytes, or many."""

    bits: int
    of_int: Callable[[int, int], int]
    of_long: Callable[[int, int], int]
    of_bytes: Callable[[bytes, int], int]

    def fold(self, value: Any, type_: Type, seed: int) -> int:
        if value is None:
            return seed
        match type_:
            case ArrayType(element=element):
                for part in value:
                    seed = self.fold(part, element, seed)
                return seed
            case StructType(fields=fields):
                for part, field in zip(value, fields, strict=True):
                    seed = self.fold(part, field.type, seed)
                return seed
            case DecimalType(precision=precision, scale=scale):
                unscaled = int(value.scaleb(scale, WIDE))
                if precision <= _LONG_DIGITS:
                    return self.of_long(unscaled, seed)
                return self.of_bytes(_shortest_bytes(unscaled), seed)
        if type_ in (STRING, BINARY):
            return self.of_bytes(value if isinstance(value, bytes) else value.encode(), seed)
        if type_ == FLOAT:
            [bits] = struct.unpack("<i", struct.pack("<f", value + 0.0))
            return self.of_int(bits, seed)
        if type_ == DOUBLE:
            [bits] = struct.unpack("<q", struct.pack("<d", value + 0.0))
            return self.of_long(bits, seed)
        if type_ in (BIGINT, TIMESTAMP, DAYS, DAY_TIME):
            return self.of_long(value, seed)
        return self.of_int(int(value), seed)


_LONG_DIGITS = 18  # a decimal of so many digits is held as a long


def _shortest_bytes(value: int) -> bytes:
    """Two's complement, big end first, as Java's BigInteger has it."""
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return value.to_bytes(size, "big", signed=True)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _resolve_hash(result: Type) -> Callable[[str, Sequence[Expression]], Signature]:
    def resolve(name: str, arguments: Sequence[Expression]) -> Signature:
        if not arguments:
            raise wrong_count(name, 1, None, 0)
        return takes(Kind.ANY, gives=result, repeats=True)(name, arguments)

    return resolve


def _hashing(function: _Hash) -> Callable[[Signature], Compute]:
    def make(signature: Signature) -> Compute:
        def compute(*values: Any) -> int:
            seed = _SEED
            for value, type_ in zip(values, signature.arguments, strict=True):
                seed = function.fold(value, type_, seed)
            return _signed(seed, function.bits)

        return compute

    return make


# Murmur 3, 32 bits

_32 = 0xFFFFFFFF


def _rotated_32(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _32


def _murmur_mix(seed: int, word: int) -> int:
    word = _rotated_32((word & _32) * 0xCC9E2D51 & _32, 15) * 0x1B873593 & _32
    return (_rotated_32(seed ^ word, 13) * 5 + 0xE6546B64) & _32


def _murmur_end(seed: int, length: int) -> int:
    seed ^= length
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _32
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _32
    return seed ^ seed >> 16


def _murmur_int(value: int, seed: int) -> int:
    return _murmur_end(_murmur_mix(seed, value), 4)


def _murmur_long(value: int, seed: int) -> int:
    return _murmur_end(_murmur_mix(_murmur_mix(seed, value), value >> 32), 8)


def _murmur_bytes(data: bytes, seed: int) -> int:
    """Unlike the original, the last odd bytes are mixed one by one, with their sign."""
    aligned = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:aligned]):
        seed = _murmur_mix(seed, word)
    for byte in data[aligned:]:
        seed = _murmur_mix(seed, _signed(byte, 8))
    return _murmur_end(seed, len(data))


_MURMUR = _Hash(32, _murmur_int, _murmur_long, _murmur_bytes)
scalar_by_type("hash", resolve=_resolve_hash(INT), nulls=Nulls.SEEN)(_hashing(_MURMUR))


# XXH 64

_64 = 0xFFFFFFFFFFFFFFFF
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5


def _rotated_64(value: int, by: int) -> int:
    value &= _64
    return (value << by | value >> (64 - by)) & _64


def _xx_end(value: int) -> int:
    value &= _64
    value = (value ^ value >> 33) * _P2 & _64
    value = (value ^ value >> 29) * _P3 & _64
    return value ^ value >> 32


def _xx_round(lane: int, word: int) -> int:
    return _rotated_64(lane + word * _P2, 31) * _P1 & _64


def _xx_with_int(value: int, word: int) -> int:
    return _rotated_64(value ^ (word & _32) * _P1 & _64, 23) * _P2 + _P3 & _64


def _xx_with_long(value: int, word: int) -> int:
    return _rotated_64(value ^ _xx_round(0, word), 27) * _P1 + _P4 & _64


def _xx_int(value: int, seed: int) -> int:
    return _xx_end(_xx_with_int(seed + _P5 + 4 & _64, value))


def _xx_long(value: int, seed: int) -> int:
    return _xx_end(_xx_with_long(seed + _P5 + 8 & _64, value))


def _xx_bytes(data: bytes, seed: int) -> int:
    striped = len(data) & ~31
    if striped:
        lanes = [seed + _P1 + _P2 & _64, seed + _P2 & _64, seed, seed - _P1 & _64]
        for words in struct.iter_unpack("<4Q", data[:striped]):
            lanes = [_xx_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
        value = sum(_rotated_64(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            value = (value & _64 ^ _xx_round(0, lane)) * _P1 + _P4
    else:
        value = seed + _P5
    value = value + len(data) & _64
    rest = data[striped:]
    whole = len(rest) & ~7
    for (word,) in struct.iter_unpack("<Q", rest[:whole]):
        value = _xx_with_long(value, word)
    rest = rest[whole:]
    if len(rest) >= 4:
        value = _xx_with_int(value, int.from_bytes(rest[:4], "little"))
        rest = rest[4:]
    for byte in rest:
        value = _rotated_64(value ^ byte * _P5 & _64, 11) * _P1 & _64
    return _xx_end(value)


_XX = _Hash(64, _xx_int, _xx_long, _xx_bytes)
scalar_by_type("xxhash64", resolve=_resolve_hash(BIGINT), nulls=Nulls.SEEN)(_hashing(_XX))
