"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mini_infer.dialects.atomic_file import AtomicFiles, atomic_file
from mini_infer.dialects.errors import MiniInferError


def test_a_file_is_there_once_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with atomic_file(path) as stream:
        stream.write(b"all")
        stream.flush()
        assert not path.exists()
    assert path.read_bytes() == b"all"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_what_was_there_stays_where_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(ValueError, match="half"), atomic_file(path) as stream:
        stream.write(b"half of it")
        raise ValueError("half")
    with pytest.raises(MiniInferError, match="file: can't be written: No space left"), atomic_file(path) as stream:
        raise OSError(28, "No space left")
    assert path.read_text() == "before"
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_has_the_mode_of_any_new_one(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    with atomic_file(tmp_path / "whole"):
        pass
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="makes links")
def test_a_link_keeps_leading_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with atomic_file(tmp_path / "link") as stream:
        stream.write(b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"


def test_several_files_wait_for_each_other(tmp_path: Path) -> None:
    with AtomicFiles(tmp_path / "one") as files:
        for name in ("one", "two"):
            with files.open(name) as stream:
                stream.write(name.encode())
        assert not (tmp_path / "one").exists()
        files.commit("two", "absent", "one")
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"one": "one", "two": "two"}
