"""Shared by the tests in a browser: Chromium, its windows, and pictures kept in out/web.

With SYLVAN_PICTURES=docs/images in the environment, the tests make the pictures of that folder
again, and no others.
"""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AGAIN = os.environ.get("SYLVAN_PICTURES")
PICTURES = Path(AGAIN or ROOT / "out" / "web")
CHROMIUM = shutil.which("chromium")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, PHONE = {"width": 1360, "height": 860}, {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def browser():
    """Chromium, without windows."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield started
        started.close()


def picture(page, name, **options):
    """Keep a picture for a reviewer."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{name}.png"
    if not AGAIN or path.exists():
        page.screenshot(path=path, **options)
