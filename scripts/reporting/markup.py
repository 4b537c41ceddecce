# SPDX-License-Identifier: BSD-3-Clause
"""HTML of text, tables and sections. All text that comes from a file passes through `text`."""
import html

# The origin that is printed next to every figure.
MEASURED_MODEL = ("measured", "measured on this host, on model NICs: one core plays the NIC")
MEASURED = ("measured", "measured on this host")
SIMULATED = ("simulated", "computed in virtual time: no hardware, no clock")
PAPER = ("published", "a value of a paper")
ACROSS_PCIE = ("measured across PCIe", "measured on this host: the NIC is a GPU on a PCIe link")
CARD_ON_THREADS = ("model on CPU threads", "measured on this host without a PCIe link: CPU threads "
                   "execute the code of a GPU")
ORIGINS = {"measured": MEASURED, "simulated": SIMULATED, "pcie": ACROSS_PCIE,
           "threads": CARD_ON_THREADS}


def text(value):
    return html.escape(str(value), quote=True)


def badge(origin):
    name, title = origin
    kind = name.replace(" ", "-")
    return f'<span class="badge {text(kind)}" title="{text(title)}">{text(name)}</span>'


def verdict(said):
    """Colours a verdict by its content."""
    kinds = {"met": "good", "better": "good", "NOT MET": "bad", "worse": "bad", "FAILED": "bad"}
    return f'<span class="verdict {kinds.get(said, "none")}">{text(said)}</span>' if said else ""


class Cell:
    """A cell of a table: the displayed text and the sort key; `markup` is inserted verbatim."""

    def __init__(self, shown, order=None, markup=None):
        self.order = shown if order is None else order
        self.markup = text(shown) if markup is None else markup
        self.is_number = isinstance(self.order, (int, float))


def number(value, digits=1, unit=""):
    """Returns a cell for a number; a dash, which sorts after all numbers, if it is None."""
    if value is None:
        return Cell("-", float("inf"))
    return Cell(f"{value:,.{digits}f}{unit}", value)


def spread(found, digits=1):
    """Formats a figure with its range in small print."""
    if found is None:
        return Cell("-", float("inf"))
    value, low, high = (f"{found[part]:,.{digits}f}" for part in ("value", "low", "high"))
    return Cell(value, found["value"], f"{value} <small>{low}…{high}</small>")


def table(titles, rows, caption, origin):
    """Returns a table that a click on a title sorts. Rows consist of Cells, or of values that are
    converted to them."""
    def cell(value):
        value = value if isinstance(value, Cell) else Cell(value)
        kind = ' class="number"' if value.is_number else ""
        return f'<td{kind} data-order="{text(value.order)}">{value.markup}</td>'

    numeric = [all(isinstance(cell, Cell) and cell.is_number for cell in column)
               for column in zip(*rows)] or [False] * len(titles)
    head = "".join(f'<th scope="col" class="{"number" if is_number else ""}">'
                   f'<button type="button">{text(title)}</button></th>'
                   for title, is_number in zip(titles, numeric))
    body = "\n".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return (f'<div class="scroll"><table class="sortable"><caption>{text(caption)} {badge(origin)}'
            f"</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n")


def paragraph(words, kind=""):
    return f'<p class="{kind}">{text(words)}</p>\n' if kind else f"<p>{text(words)}</p>\n"


def bullets(lines):
    """Returns a list of markup."""
    return "<ul>\n" + "".join(f"<li>{line}</li>\n" for line in lines) + "</ul>\n"


def section(title, *parts):
    """Returns a section; an empty string if all parts are empty."""
    inner = "".join(parts)
    anchor = "".join(c if c.isalnum() else "-" for c in title.lower())
    return f'<section id="{text(anchor)}"><h2>{text(title)}</h2>\n{inner}</section>\n' \
        if inner else ""
