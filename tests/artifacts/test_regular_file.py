"""Files that are read up to a limit, those too whose size is only known by reading."""

import errno
from pathlib import Path

import pytest

from psc.support.regular_file import read_regular


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_within_the_limit(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(size)))
    assert read_regular(path, 100) == bytes(range(size))


def test_a_file_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(101))
    with pytest.raises(OSError) as caught:
        read_regular(path, 100)
    assert caught.value.errno == errno.EFBIG


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="Linux has such files")
def test_a_file_without_a_size() -> None:
    path = Path("/proc/cpuinfo")
    content = path.read_bytes()
    assert path.stat().st_size == 0 and len(content) > 100
    assert len(read_regular(path, 1 << 24)) == len(content)
    with pytest.raises(OSError) as caught:
        read_regular(path, 100)
    assert caught.value.errno == errno.EFBIG
