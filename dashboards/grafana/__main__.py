"""`python -m dashboards.grafana` writes the JSON of every dashboard; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> int:
    """The exit code: 0; 1 when `--check` finds a file that is not what the code makes, or the SDK is missing; 2 for
    another argument.
    """
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m dashboards.grafana [--check]\n")
        return 2
    try:
        from .build import FOLDER, built
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("grafana_foundation_sdk"):
            raise
        sys.stderr.write("this needs the package grafana-foundation-sdk; run: pip install 'firsthand[grafana]'\n")
        return 1
    stale = []
    for name, text in built().items():
        path = FOLDER / f"{name}.json"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if not arguments:
                FOLDER.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if arguments and stale:
        sys.stderr.write(f"{', '.join(stale)}: not what the code makes; run python -m dashboards.grafana\n")
        return 1
    sys.stdout.write(f"{', '.join(stale) or 'nothing'} {'is stale' if arguments else 'written'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
