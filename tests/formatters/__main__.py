"""Record what the formatters on the PATH make of the sources; see `tools`."""

import shutil
import subprocess

from tests.formatters.tools import TOOLS, WRITTEN


def main() -> None:
    """Write `written/TOOL/FILE` for each tool that is installed."""
    for tool in TOOLS:
        if not tool.is_here():
            print(f"{tool.name}: not installed, its recorded files stay")
            continue
        folder = WRITTEN / tool.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for source in tool.files():
            try:
                tool.write(source, folder)
            except subprocess.CalledProcessError as error:
                if error.returncode == 1 and (folder / source.name).exists() and not error.stderr:
                    continue  # rubocop: what is left to be said
                print(f"{tool.name} {source.name}: {error.stderr.decode()[:300]}")
                (folder / source.name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
