"""Python for the golden scripts of this folder."""


def initials(first, last):
    return f"{first[0]}{last[0]}"


def strict_root(value):
    if value is None:
        return None
    if value < 0:
        raise ValueError("negative")
    return value**0.5
