"""Python for the golden scripts of this folder."""


class Spread:
    """The distance between the largest and the smallest value."""

    def __init__(self):
        self.values = []

    def add(self, value):
        if value is not None:
            self.values.append(value)

    def result(self):
        return max(self.values) - min(self.values)
