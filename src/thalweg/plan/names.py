"""Names of columns made different from each other."""

from __future__ import annotations


def unique_names(names: list[str]) -> list[str]:
    """Names made different: of a, a, a the later ones become a_1, a_2."""
    taken = {name.lower() for name in names}
    seen: set[str] = set()
    result = []
    for name in names:
        unique, number = name, 0
        while unique.lower() in seen or (number and unique.lower() in taken):
            number += 1
            unique = f"{name}_{number}"
        seen.add(unique.lower())
        result.append(unique)
    return result
