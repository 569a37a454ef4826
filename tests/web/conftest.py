"""Fixtures of the browser app's tests; they skip where the extra `web` is not installed."""

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")
pytest.importorskip("websockets", reason="the extra `web` is not installed")

from sylvan.web.app import STATIC
from tests.web.browser import browser  # noqa: F401
from tests.web.serving import Page, served


@pytest.fixture
def page():
    with Page() as page:
        yield page


@pytest.fixture(scope="session")
def built():
    """The built page."""
    if not (STATIC / "app.js").is_file():
        pytest.skip("the page is not built: run `make web`")


@pytest.fixture(scope="session")
def address(built):
    """The address of a server with the default settings."""
    with served() as where:
        yield where
