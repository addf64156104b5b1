"""The formatters that the law of formatters is held against, and how each is run.

    PATH=... python -m tests.formatters

writes the files of `sources` as each tool that is on the PATH writes them, into `written`. The
recorded ones hold everywhere; those of tools that are installed are made anew in the law.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "sources"
WRITTEN = HERE / "written"
PLACES = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
_PRETTIER = ("prettier", "--write", "--no-config", "--no-editorconfig", "--log-level", "silent")
_OTHER_STYLE = (
    *("--no-semi", "--single-quote", "--jsx-single-quote", "--arrow-parens", "avoid"),
    *("--trailing-comma", "none", "--quote-props", "consistent", "--no-bracket-spacing"),
    *("--print-width", "120", "--use-tabs"),
)
_COPS = (
    "Layout,Style/StringLiterals,Style/StringLiteralsInInterpolation,Style/QuotedSymbols,"
    "Style/TrailingCommaInArguments,Style/TrailingCommaInHashLiteral,Style/Semicolon,"
    "Style/TrailingCommaInArrayLiteral,Style/RedundantParentheses,Style/DefWithParentheses,"
    "Style/MethodCallWithoutArgsParentheses,Style/MethodDefParentheses,"
    "Style/ParenthesesAroundCondition"
)


@dataclass(frozen=True)
class Tool:
    """A formatter: its command, which is given a file to rewrite, and what it is for."""

    name: str
    command: tuple[str, ...]
    endings: tuple[str, ...]

    def files(self) -> list[Path]:
        """Return the sources that it formats."""
        return [path for path in sorted(SOURCES.iterdir()) if path.suffix in self.endings]

    def is_here(self) -> bool:
        """Return whether it is installed."""
        return shutil.which(self.command[0], path=PLACES) is not None

    def write(self, source: Path, folder: Path) -> Path:
        """Return a copy of a source as the tool writes it, in a folder.

        Raises:
            subprocess.CalledProcessError: the tool refuses the file.
        """
        copy = folder / source.name
        shutil.copyfile(source, copy)
        program = shutil.which(self.command[0], path=PLACES) or self.command[0]
        command = [program, *self.command[1:], str(copy)]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=60)
        return copy


TOOLS = (
    Tool("prettier", _PRETTIER, (".jsx", ".ts", ".tsx", ".json", ".yaml")),
    Tool("prettier-standard", (*_PRETTIER, *_OTHER_STYLE), (".jsx", ".ts", ".tsx", ".yaml")),
    Tool("prettier-php", (*_PRETTIER, "--plugin", "@prettier/plugin-php"), (".php",)),
    Tool("prettier-java", (*_PRETTIER, "--plugin", "prettier-plugin-java"), (".java",)),
    Tool("black", ("black", "-q"), (".py",)),
    Tool("black-narrow", ("black", "-q", "-S", "-C", "-l", "40"), (".py",)),
    Tool("ruff", ("ruff", "format", "-q", "--isolated"), (".py",)),
    Tool(
        "ruff-single",
        ("ruff", "format", "-q", "--isolated", "--config", "format.quote-style='single'"),
        (".py",),
    ),
    Tool("autopep8", ("autopep8", "-i"), (".py",)),
    Tool("yapf", ("yapf", "-i"), (".py",)),
    Tool("gofmt", ("gofmt", "-w"), (".go",)),
    Tool("rustfmt", ("rustfmt", "--edition", "2021"), (".rs",)),
    Tool("rustfmt-narrow", ("rustfmt", "--edition", "2021", "--config", "max_width=50"), (".rs",)),
    Tool("google-java-format", ("google-java-format", "--replace"), (".java",)),
    Tool("ktlint", ("ktlint", "-F", "--log-level=none"), (".kt",)),
    Tool("clang-format", ("clang-format", "-i", "--style=LLVM"), (".c", ".cpp")),
    Tool("clang-format-webkit", ("clang-format", "-i", "--style=WebKit"), (".c", ".cpp")),
    Tool("csharpier", ("rsharpier", "format"), (".cs",)),
    Tool("rubocop", ("rubocop", "-a", "-o", "/dev/null", "--only", _COPS), (".rb",)),
    Tool("astyle", ("astyle", "-n", "-q"), (".c", ".cpp", ".cs", ".java")),
    Tool("biome", ("biome", "format", "--write"), (".json", ".jsx", ".ts", ".tsx")),
    Tool("phpcbf", ("phpcbf", "-q", "--standard=PSR12"), (".php",)),
    Tool("yamlfmt", ("yamlfmt", "-w"), (".yaml",)),
    Tool("yamlfix", ("yamlfix",), (".yaml",)),
    Tool("shfmt", ("shfmt", "-w"), (".sh",)),
    Tool("shfmt-simplify", ("shfmt", "-w", "-s"), (".sh",)),
    Tool("shfmt-google", ("shfmt", "-w", "-i", "2", "-ci", "-bn", "-sr"), (".sh",)),
    Tool("mix", ("mix", "format"), (".ex",)),
    Tool("taplo", ("taplo", "fmt"), (".toml",)),
    Tool("prettier-toml", (*_PRETTIER, "--plugin", "prettier-plugin-toml"), (".toml",)),
)
