"""The table of `benchmarks.learning`: a row per network, mean and worst over the seeds."""

from benchmarks.learning import markdown


def row(seed, network, mistakes, points):
    return {
        "benchmark": "b",
        "seed": seed,
        "network": network,
        "mistakes hard %": mistakes,
        "points %": points,
    }


def test_mean_and_worst_are_listed_for_last_and_best():
    rows = [row(1, "last", 8.0, 60.0), row(1, "best", 7.0, 61.0)]
    rows += [row(2, "last", 10.0, 70.5), row(2, "best", 9.0, 50.0)]
    lines = markdown(rows).splitlines()
    assert lines[0] == "| benchmark | seed | network | mistakes hard % | points % |"
    assert len(lines) == 2 + 4 + 4
    assert "| b | mean | last | 9 | 65.25 |" in lines
    assert "| b | worst | last | 10 | 60 |" in lines  # most mistakes, fewest points
    assert "| b | worst | best | 9 | 50 |" in lines


def test_one_seed_has_no_mean():
    assert len(markdown([row(1, "last", 8.0, 60.0)]).splitlines()) == 3
