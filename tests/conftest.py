"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The machine that runs the tests may be busy: how long one example takes says nothing about the code.
settings.register_profile("vaultd", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("vaultd")
