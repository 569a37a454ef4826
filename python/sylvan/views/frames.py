"""Write images as an animated GIF, an MP4 video, or a folder of PNG files."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, MissingExtra
from sylvan.files import rename, sync_file, write_bytes

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["save_frames"]

Frame = NDArray[np.uint8]
"""`[H, W, 3]` red, green, blue."""


def save_frames(path: str | PathLike[str], frames: Sequence[Frame], per_second: float) -> None:
    """Write images of one size; the suffix of the path is `.gif`, `.mp4`, or none for a folder.

    :raises ConfigError: there is no image, the suffix is another, or ffmpeg is not installed.
    :raises MissingExtra: Pillow is not installed.
    """
    target = Path(path)
    if not len(frames):
        raise ConfigError(f"There is no image to write to {target}.")
    if target.suffix == ".gif":
        write_bytes(target, _gif(frames, per_second))
    elif target.suffix == ".mp4":
        _mp4(target, frames, per_second)
    elif target.suffix == "":
        target.mkdir(parents=True, exist_ok=True)
        for number, frame in enumerate(frames):
            write_bytes(target / f"{number:05d}.png", _encoded(_image(frame), "PNG"))
    else:
        raise ConfigError(
            f"{target} has an unknown suffix: use .gif, .mp4, or none for a folder of PNG files."
        )


def _image(frame: Frame) -> Image:
    try:
        from PIL.Image import fromarray
    except ImportError:
        raise MissingExtra.named("Images of episodes need Pillow", "gym") from None
    return fromarray(np.ascontiguousarray(frame, np.uint8))


def _encoded(image: Image, kind: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format=kind, **how)
    return file.getvalue()


def _gif(frames: Sequence[Frame], per_second: float) -> bytes:
    """Encode as GIF; a small palette keeps files small, and environments use few colours."""
    images = [_image(frame).quantize(64) for frame in frames]
    # A GIF counts hundredths of a second; viewers slow down below two.
    pause = max(20, 10 * round(100 / per_second))
    more: dict[str, Any] = {"save_all": True, "append_images": images[1:], "loop": 0}
    return _encoded(images[0], "GIF", duration=pause, optimize=False, **more)


def _mp4(target: Path, frames: Sequence[Frame], per_second: float) -> None:
    program = shutil.which("ffmpeg")
    if program is None:
        raise ConfigError(f"ffmpeg is not installed to write {target}: give a name ending in .gif.")
    height, width = frames[0].shape[:2]
    unfinished = target.with_name(f".{target.name}.part.mp4")
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-r", str(per_second), "-i", "-", "-pix_fmt", "yuv420p"]
    # The encoder needs even sizes.
    command += ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", str(unfinished)]
    data = b"".join(np.ascontiguousarray(frame, np.uint8).tobytes() for frame in frames)
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise ConfigError(f"ffmpeg could not write {target}: {said}; give a name ending in .gif.")
    sync_file(unfinished)
    rename(unfinished, target)
