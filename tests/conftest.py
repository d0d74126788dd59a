"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The machine that runs the tests may be busy: how long one example takes says nothing about the code.
settings.register_profile("vaultd", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A change is judged by the examples that the one before it was judged by; who runs the tests by hand draws new ones.
settings.register_profile("fixed", settings.get_profile("vaultd"), derandomize=True)
settings.load_profile("fixed" if os.environ.get("VAULTD_TEST_EXAMPLES") == "fixed" else "vaultd")
