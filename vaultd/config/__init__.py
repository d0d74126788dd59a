"""Settings on disk: `load` reads file and environment, `save` changes lines of the file."""

from vaultd.config.loading import Loaded, load, load_with_sources
from vaultd.config.saving import save

__all__ = ["Loaded", "load", "load_with_sources", "save"]
