"""Write docs/configuration.md from the table of settings: `python scripts/configuration.py > docs/configuration.md`."""

from __future__ import annotations

from vaultd.settings import KEYS, SECTIONS


def main() -> None:
    print("# Configuration\n")
    print(
        "`config.yaml` lies in the platform's folder for settings (`vaultd config path`), or where `--config` or `VAULTD_CONFIG` says.\n"
        "Environment wins over the file, the file over the defaults. `vaultd config show` lists every setting with its value and where it\n"
        "comes from; `vaultd config set KEY VALUE` changes one line and keeps your comments. Keys are never written to the file.\n"
        "Settings marked *live* can be changed in the dashboard while the daemon runs.\n"
    )
    rows = [(name.partition(".")[0] if "." in name else "", name, key) for name, key in KEYS.items()]
    for section in dict.fromkeys(section for section, _, _ in rows):
        print(f"## {section or 'General'}\n")
        if section and section in SECTIONS:
            print(f"{str(SECTIONS[section]).splitlines()[0]}\n")
        print("| key | default | allowed | what it does |\n| --- | --- | --- | --- |")
        for of, name, key in rows:
            if of == section:
                live = " *live*" if key.hot else ""
                variables = f" (`{'`, `'.join(key.env)}`)" if key.env else ""
                about = key.about.replace("|", "\\|")
                default = "" if key.default in (None, "", ()) else f"`{key.default}`"
                print(f"| `{name}` | {default} | {key.allowed.replace('|', '/')} | {about}{variables}{live} |")
        print()


if __name__ == "__main__":
    main()
