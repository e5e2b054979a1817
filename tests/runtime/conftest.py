"""The kernels on masks, compiled for this processor, once a session."""

import pytest
from emulated_cuda import HostKernels, compiler


@pytest.fixture(scope="session")
def host_kernels(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    """Needs a C++ compiler, as building psc did."""
    if compiler() is None:
        pytest.skip("there is no C++ compiler")
    return HostKernels(tmp_path_factory.mktemp("kernels"))
