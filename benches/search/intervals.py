"""Geometric means of factors, with intervals over seeds."""

import math
import statistics

# The 97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]


def spread(logs):
    """The mean of logarithms and the half-width of its 95 % interval, for up to ten seeds."""
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return mean, math.inf
    return mean, STUDENT[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))


def factor(logs):
    """Both as factors, in words; an interval that holds 1 decides nothing."""
    return told(*spread(logs))


def told(mean, half):
    """A factor and its interval, in words."""
    if math.isinf(half):
        return f"{math.exp(mean):.2f}"
    low, high = math.exp(mean - half), math.exp(mean + half)
    verdict = "" if low > 1 or high < 1 else " (undecided)"
    return f"{math.exp(mean):.2f} [{low:.2f}, {high:.2f}]{verdict}"
