"""Exact sums of floating-point numbers, as whole numbers of many digits.

A DOUBLE is a whole number of units of 2^-1074, its square one of 2^-2148. A sum is
written with digits to the base 2^32, each in a 64-bit word of its own: nothing is
lost, nothing has to be carried for 2^31 additions, and what was added can be taken
away again. Only the digits that some number has needed are there, `base` is the
place of the first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thalweg.kernels import kernel

# The columns that count infinities and NaNs.
PLUS, MINUS, NAN = range(3)

# Powers of two: of a digit, and of the unit.
DIGIT_BITS = 32
UNIT_BITS = 1074

# How a number in an event is meant: as a number, as a square, or to be squared.
PLAIN, SQUARE, TO_SQUARE = range(3)


@kernel
def digit_range(events: Any, columns: Any, meant: Any) -> Any:
    """The places of the lowest and of the highest digit that numbers need; (0, -1) for none.

    The numbers are the bits of DOUBLEs in some columns; `meant` says how, by column.
    """
    low = 1 << 20
    high = -1
    for i in range(len(events)):
        for j in range(len(columns)):
            bits = events[i, columns[j]]
            exponent = (bits >> 52) & 0x7FF
            if bits & 0x7FFFFFFFFFFFFFFF == 0 or exponent == 0x7FF:
                continue
            at = max(exponent, 1) - 1
            last = at + 52
            if meant[j] == 1:
                at += 1074
                last += 1074
            elif meant[j] == 2:
                at *= 2
                last = at + 105
            low = min(low, at >> 5)
            high = max(high, (last >> 5) + 1)
    if high < 0:
        return 0, -1
    return low, high


@kernel
def add_at(words: Any, slot: int, number: int, at: int, weight: int) -> None:
    """Add a number below 2^55, so many bits up."""
    place = at >> 5
    shift = at & 31
    low = (number & 0xFFFFFFFF) << shift
    high = (number >> 32) << shift
    words[slot, place] += weight * (low & 0xFFFFFFFF)
    words[slot, place + 1] += weight * ((low >> 32) + (high & 0xFFFFFFFF))
    if high >> 32:
        words[slot, place + 2] += weight * (high >> 32)


@kernel
def add_doubles(
    events: Any,
    weights: Any,
    columns: Any,
    meant: Any,
    entry: Any,
    words: Any,
    odd: Any,
    base: int,
    now: Any,
    now_odd: Any,
) -> None:
    """Add the DOUBLEs in some columns of events to the sums of their slots."""
    for i in range(len(events)):
        slot = events[i, 1]
        for j in range(len(columns)):
            bits = events[i, columns[j]]
            if bits & 0x7FFFFFFFFFFFFFFF == 0:
                continue
            exponent = (bits >> 52) & 0x7FF
            fraction = bits & 0xFFFFFFFFFFFFF
            if exponent == 0x7FF:
                which = 2 if fraction else (1 if bits < 0 else 0)
                odd[slot, which] += weights[i]
                continue
            if exponent > 0:
                fraction += 1 << 52
                exponent -= 1
            weight = weights[i]
            if meant[j] == 2:
                at = 2 * exponent - 32 * base
                high = fraction >> 27
                low = fraction & 0x7FFFFFF
                add_at(words, slot, low * low, at, weight)
                add_at(words, slot, 2 * high * low, at + 27, weight)
                add_at(words, slot, high * high, at + 54, weight)
                continue
            if bits < 0:
                weight = -weight
            at = exponent - 32 * base
            if meant[j] == 1:
                at += 1074
            add_at(words, slot, fraction, at, weight)
        for j in range(words.shape[1]):
            now[entry[i], j] = words[slot, j]
        for j in range(3):
            now_odd[entry[i], j] = odd[slot, j]


@kernel
def carried(words: Any) -> Any:
    """The signs of sums, and their digits without the sign: each below the base, in place."""
    signs = np.empty(len(words), np.int64)
    width = words.shape[1]
    for row in range(len(words)):
        sign = 0
        for _ in range(2):
            carry = 0
            for j in range(width):
                digit = words[row, j] + carry
                carry = digit >> 32
                words[row, j] = digit & 0xFFFFFFFF
            if carry >= 0:
                break
            # Below zero: what is left of the highest digit says so. Begin again with the
            # opposite number.
            sign = -1
            words[row, width - 1] += carry << 32
            for j in range(width):
                words[row, j] = -words[row, j]
        if carry:
            words[row, width - 1] += carry << 32
        if sign == 0:
            for j in range(width):
                if words[row, j] != 0:
                    sign = 1
                    break
        signs[row] = sign
    return signs


@kernel
def scaled_doubles(words: Any, signs: Any, first_bit: int, numbers: Any, exponents: Any) -> None:
    """Sums as a DOUBLE times a power of two each: rounded to 62 bits, odd if inexact.

    The digits are as `carried` leaves them; `first_bit` is the power of two of the lowest.
    A conversion of the result to DOUBLE is then rounded as the exact sum would be.
    """
    for row in range(len(words)):
        numbers[row] = 0
        exponents[row] = 0
        if signs[row] == 0:
            continue
        top = words.shape[1] - 1
        while words[row, top] == 0:
            top -= 1
        bits = math.frexp(float(words[row, top]))[1]
        value = words[row, top]
        at = top
        exponent = first_bit + 32 * top
        left = 62 - bits
        sticky = 0
        while left > 0 and at > 0:
            at -= 1
            some = min(32, left)
            value = (value << some) | (words[row, at] >> (32 - some))
            exponent -= some
            if words[row, at] & ((1 << (32 - some)) - 1):
                sticky = 1
            left -= some
        while at > 0 and sticky == 0:
            at -= 1
            if words[row, at] != 0:
                sticky = 1
        numbers[row] = signs[row] * (value | sticky)
        exponents[row] = exponent
