"""A pytest plugin for mutants: random tests draw the same every time, and nothing is shrunk.

Without a fixed seed a mutant that only rare examples kill would come and go.
"""

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "mutants",
    derandomize=True,
    max_examples=100,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


def pytest_configure() -> None:
    """Replace the profile of `conftest.py`, which is loaded before."""
    settings.load_profile("mutants")
