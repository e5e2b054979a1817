"""The kernels on masks, compiled for this processor, once a session; and devices that run them."""

from collections.abc import Iterator

import pytest
from emulated_cuda import EmulatedDevice, HostKernels, compiler, seen_array

from psc.runtime import cupy_masks


@pytest.fixture(scope="session")
def host_kernels(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    """Needs a C++ compiler, as building psc did."""
    if compiler() is None:
        pytest.skip("there is no C++ compiler")
    return HostKernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def emulated(host_kernels: HostKernels, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, EmulatedDevice]]:
    """Two devices, of which 0 is the current one."""
    devices = {i: EmulatedDevice(host_kernels, i) for i in range(2)}
    monkeypatch.setattr(cupy_masks, "cuda_device", devices.__getitem__)
    monkeypatch.setattr(cupy_masks, "device_array", seen_array)
    monkeypatch.setattr(cupy_masks, "current_ordinal", lambda: 0)
    yield devices
