"""Images as a GIF, a video or PNG files, and the errors."""

import shutil

import numpy as np
import pytest

from sylvan.errors import ConfigError
from sylvan.views.frames import save_frames

Image = pytest.importorskip("PIL.Image")


def pictures(count=3):
    """Draw a white square that moves over a black background."""
    frames = np.zeros((count, 20, 31, 3), np.uint8)
    for number in range(count):
        frames[number, 5:10, 4 * number : 4 * number + 5] = 255
    return list(frames)


def test_a_gif_has_all_images_and_their_duration(tmp_path):
    save_frames(tmp_path / "a.gif", pictures(), per_second=25)
    with Image.open(tmp_path / "a.gif") as image:
        assert (image.n_frames, image.size, image.info["duration"]) == (3, (31, 20), 40)
        image.seek(2)
        assert (np.asarray(image.convert("RGB")) == pictures()[2]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


def test_a_folder_has_one_file_per_image(tmp_path):
    save_frames(tmp_path / "new" / "folder", pictures(), per_second=30)
    files = sorted((tmp_path / "new" / "folder").iterdir())
    assert [file.name for file in files] == ["00000.png", "00001.png", "00002.png"]
    with Image.open(files[1]) as image:
        assert (np.asarray(image) == pictures()[1]).all()


def test_impossible_outputs_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"\.gif"):
        save_frames(tmp_path / "a.avi", pictures(), 30)
    with pytest.raises(ConfigError, match="no image"):
        save_frames(tmp_path / "a.gif", [], 30)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ConfigError, match="ffmpeg"):
        save_frames(tmp_path / "a.mp4", pictures(), 30)
    assert not list(tmp_path.iterdir())


def test_a_video_is_encoded_by_ffmpeg(tmp_path, monkeypatch):
    """Uses a fake ffmpeg that stores its input."""
    program = tmp_path / "ffmpeg"
    program.write_text('#!/bin/sh\nfor last; do :; done\ncat > "$last"\n')
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(program))
    save_frames(tmp_path / "a.mp4", pictures(), 30)
    assert (tmp_path / "a.mp4").read_bytes() == b"".join(f.tobytes() for f in pictures())
    program.write_text('#!/bin/sh\necho "no such codec" >&2\nexit 1\n')
    with pytest.raises(ConfigError, match=r"b\.mp4"):
        save_frames(tmp_path / "b.mp4", pictures(), 30)
    assert not list(tmp_path.glob("*b.mp4*"))
