"""`vaultd` and `python -m vaultd`."""

from __future__ import annotations

from vaultd.cli.main import cli


def main() -> None:
    """Run the command line; leaves with 0, 1 (failed) or 2 (wrong usage)."""
    cli()


if __name__ == "__main__":
    main()
