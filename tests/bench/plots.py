"""Draws the figures of the budgets: pictures for docs, and the table in docs/performance.md.

    python -m tests.bench.plots

Reads `figures.json` beside it, which `tests.bench.budgets --out` has written. A picture brings its
own ground, light or dark as the reader has it, so that it can be read on any page.
"""

import json
from html import escape
from pathlib import Path

FIGURES = Path(__file__).with_name("figures.json")
DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "performance.md"
BEGIN, END = "<!-- budgets: begin -->", "<!-- budgets: end -->"
WIDTH = 920
STYLE = """
.ground{fill:#fff}.text{fill:#1f2328}.faint{fill:#59636e}.axis{stroke:#8c959f}
.line{stroke:#0969da;fill:none}.dot,.kept{fill:#0969da}.missed{fill:#bc4c00}.goal{stroke:#1a7f37}
.goaltext{fill:#1a7f37}
@media (prefers-color-scheme: dark){
.ground{fill:#0d1117}.text{fill:#e6edf3}.faint{fill:#9198a1}.axis{stroke:#656c76}
.line{stroke:#4493f8}.dot,.kept{fill:#4493f8}.missed{fill:#f0883e}.goal{stroke:#3fb950}
.goaltext{fill:#3fb950}}
text{font:12px system-ui,sans-serif}
"""
ROW, LEFT, TOP = 26, 506, 44
SHARE_MAX = 2.5
"""Of its goal, a bar is no longer than this."""
BY_MEMORIES = (
    ("size", "the store", "the store, MiB"),
    ("remember", "remember, CPU", "remember, ms of CPU"),
    ("recall", "recall, CPU", "recall, ms of CPU"),
)
BY_PROJECTS = (
    ("start CPU", "until all are watched, CPU", "start until all are watched, ms of CPU"),
    ("RSS", "memory, idle", "memory, idle, MiB"),
    ("watches", "folders watched", "folders watched"),
    ("idle", "CPU, idle, of a core", "CPU, idle, % of a core"),
)


def picture(height, parts, title):
    """Return a whole picture; `title` is what is read aloud."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>',
        *parts,
        "</svg>",
        "",
    ])  # fmt: skip


def words(x, y, text, kind="text", anchor="start"):
    """Return a text at a place."""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def short(value):
    """Return a number as a person writes it."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def bars(figures):
    """Return a picture of each budget: its figure as a share of its goal."""
    rows = [row for row in figures if row["goal"]]
    scale = (WIDTH - LEFT - 130) / SHARE_MAX
    bottom = TOP + ROW * len(rows)
    at_goal = LEFT + scale
    parts = [words(16, 24, "What is promised, and what it is: each bar is the share of its goal")]
    for number, row in enumerate(rows):
        y = TOP + ROW * number
        share = row["median"] / row["goal"]
        length = max(min(share, SHARE_MAX) * scale, 1)
        kind = "kept" if share <= 1 else "missed"
        said = f"{short(row['median'])} of {short(row['goal'])} {row['unit']}"
        parts += [
            words(LEFT - 10, y + 16, row["name"], anchor="end"),
            f'<rect class="{kind}" x="{LEFT}" y="{y + 4}" width="{length:.1f}" height="16"/>',
            words(max(LEFT + length, at_goal) + 8, y + 16, said, "faint"),
        ]
    parts += [
        f'<path class="goal" stroke-width="2" d="M{at_goal:.1f} {TOP - 4}V{bottom}"/>',
        words(at_goal, bottom + 16, "the goal", "goaltext", "middle"),
    ]
    return picture(bottom + 28, parts, "Budgets: figure against goal")


def curves(series, columns):
    """Return a picture of small curves: rows of title, labels below, and values."""
    room, tall = (WIDTH - 16) / columns, 190
    parts = []
    for place, (title, labels, values) in enumerate(series):
        x0 = 16 + room * (place % columns) + 14
        x1 = x0 + room - 58
        y1 = 74 + tall * (place // columns)
        y0 = y1 + 90
        most = (max(values) or 1) * 1.15
        steps = max(len(values) - 1, 1)
        points = [
            (x0 + (x1 - x0) * at / steps, y0 - (y0 - y1) * value / most)
            for at, value in enumerate(values)
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts += [
            words(x0 - 10, y1 - 30, title),
            f'<path class="axis" fill="none" d="M{x0:.1f} {y1}V{y0}H{x1:.1f}"/>',
            f'<polyline class="line" stroke-width="2" points="{line}"/>',
        ]
        for (x, y), value, label in zip(points, values, labels, strict=True):
            parts += [
                f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>',
                words(x, y - 8, short(value), anchor="middle"),
                words(x, y0 + 17, label, "faint", "middle"),
            ]
    return parts, 74 + tall * -(-len(series) // columns) - 60


def growth(figures, series, title, columns):
    """Return a picture of what grows with the number that the names of its figures begin with."""
    drawn_series = []
    for part, ending, words_above in series:
        rows = sorted(
            (int(row["name"].split()[0].replace(",", "")), row["median"])
            for row in figures
            if row["part"] == part and row["name"].endswith(ending)
        )
        labels = [f"{count:,}" for count, _ in rows]
        drawn_series.append((words_above, labels, [value for _, value in rows]))
    parts, height = curves(drawn_series, columns)
    return picture(height, [words(16, 22, title), *parts], title)


def table(figures):
    """Return the rows of the table, as Markdown."""
    rows = ["| what | goal | median (slowest) | kept | beside |", "|---|---|---|---|---|"]
    for row in figures:
        if row["part"] in {part for part, _, _ in BY_MEMORIES}:
            continue  # they have a table of their own
        goal = "" if row["goal"] is None else f"{row['goal']:g} {row['unit']}"
        most = f" ({short(row['most'])})" if row["most"] != row["median"] else ""
        kept = "" if row["goal"] is None else "yes" if row["median"] <= row["goal"] else "**no**"
        found = f"{short(row['median'])} {row['unit']}".rstrip()
        rows.append(
            f"| {row['name']} | {goal.strip()} | {found}{most} | {kept} | {row['beside']} |"
        )
    return "\n".join(rows)


def reference(beside):
    """Return a line that says how fast the machine was; `beside`: milliseconds by part."""
    if not beside:
        return ""
    each = ", ".join(f"{part} {short(took)}" for part, took in beside.items())
    return f"\nProcessor time of a loop of 3,000,000 additions beside each part, in ms: {each}.\n"


def drawn():
    """Return what each file must say, by its path."""
    parts = json.loads(FIGURES.read_text(encoding="utf-8"))
    beside = parts.pop("reference", {})
    figures = [row for rows in parts.values() for row in rows]
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return {
        PAGE: f"{before}{BEGIN}\n{table(figures)}\n{reference(beside)}{END}{after}",
        DOCS / "budgets.svg": bars(figures),
        DOCS / "projects.svg": growth(
            figures, BY_PROJECTS, "What grows with the number of projects", 2
        ),
        DOCS / "growth.svg": growth(
            figures, BY_MEMORIES, "What grows with the number of memories", 3
        ),
    }


def main():
    """Write the pictures and the table."""
    for path, text in drawn().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
