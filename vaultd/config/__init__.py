"""Settings on disk: `load` reads file and environment; `vaultd.config.saving.save` changes lines of the file."""

from vaultd.config.loading import Loaded, load, load_with_sources

__all__ = ["Loaded", "load", "load_with_sources"]
