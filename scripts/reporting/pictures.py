# SPDX-License-Identifier: BSD-3-Clause
"""Pictures as inline SVG. Every mark has its number as a hover text, and with full precision as
`data-value`. Simulated series are dashed and labelled; no picture mixes simulated and measured
bars."""
import math

from markup import ORIGINS, badge, text

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 8, 12, 46
TICKS = 5
KNOWN = {"packetized": 0, "streaming": 1, "bilateral": 2, "coherent": 3}  # Fixed colours.
COLOURS = 8
WHISKER = "Line on a bar: the range of the samples from the best to the median."


def colour(name, names):
    """Returns the class of a series: an interface has the same one in every picture."""
    if name in KNOWN:
        return f"c{KNOWN[name]}"
    taken = {KNOWN[each] for each in names if each in KNOWN}
    free = [number for number in range(COLOURS) if number not in taken]
    return f"c{free[[each for each in names if each not in KNOWN].index(name) % len(free)]}"


def nice_steps(highest):
    """Returns ticks from 0 up to at least `highest`: steps of 1, 2 or 5 times a power of ten."""
    if highest <= 0:
        return [0, 1]
    rough = highest / TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    count = math.ceil(highest / step - 1e-9)
    return [step * i for i in range(count + 1)]


def decades(lowest, highest):
    """Returns the powers of ten around all values."""
    return [10.0 ** power for power in range(math.floor(math.log10(lowest)),
                                             max(math.ceil(math.log10(highest)),
                                                 math.floor(math.log10(lowest)) + 1) + 1)]


class Scale:
    """Maps values to positions between the first tick and the last."""

    def __init__(self, values, log, start, end):
        values = list(values)
        self.log, self.start, self.end = log, start, end
        self.ticks = decades(min(values), max(values)) if log else nice_steps(max(values))

    def __call__(self, value):
        low, high = self.ticks[0], self.ticks[-1]
        part = math.log(value / low) / math.log(high / low) if self.log else \
            (value - low) / (high - low)
        return self.start + part * (self.end - self.start)


def short(value):
    """Formats a tick."""
    for bound, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= bound:
            return f"{value / (1e3 if unit == 'k' else bound):g}{unit}"
    return f"{value:g}"


def label(x, y, words, anchor="middle", kind="tick"):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def y_axis(scale, title):
    parts = [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{scale(tick):.1f}" '
             f'y2="{scale(tick):.1f}"/>' + label(LEFT - 6, scale(tick) + 4, short(tick), "end")
             for tick in scale.ticks]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return "".join(parts) + f'<g transform="rotate(-90 14 {middle})">' \
        + label(14, middle, title, kind="axis") + "</g>"


def figure(title, inner, names, origin, note="", marks=()):
    """`marks` contains the legend's remarks by name."""
    legend = "".join(f'<li><span class="swatch {colour(name, names)}"></span>{text(name)}'
                     f"{text(dict(marks).get(name, ''))}</li>" for name in names)
    return (f'<figure><figcaption>{text(title)} {badge(origin)}</figcaption>\n'
            f'<ul class="legend">{legend}</ul>\n'
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(title)}">{inner}</svg>'
            + (f'<p class="note">{text(note)}</p>' if note else "") + "</figure>\n")


def bars(title, x_title, y_title, groups, names, marks, origin, pale):
    """`marks` contains, by (group, name), a dict of `value`, `ends` (of the whisker), `hover` and
    `doubt` (drawn pale). `pale` explains pale bars. A missing mark leaves a gap."""
    marks = {place: mark for place, mark in marks.items() if place[0] in groups}
    if not marks:
        return ""
    y = Scale([max(mark["value"], *mark["ends"]) for mark in marks.values()], False,
              HEIGHT - BOTTOM, TOP)
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = min(room * 0.8 / len(names), 48)
    parts = [y_axis(y, y_title),
             label((LEFT + WIDTH) / 2, HEIGHT - 6, x_title, kind="axis")]
    for at, group in enumerate(groups):
        middle = LEFT + (at + 0.5) * room
        parts.append(label(middle, HEIGHT - BOTTOM + 16, group))
        for number, name in enumerate(names):
            mark = marks.get((group, name))
            if not mark:
                continue
            left = middle + (number - len(names) / 2) * width
            top, *ends = map(y, (mark["value"], *mark["ends"]))
            doubt = " doubt" if mark["doubt"] else ""
            parts.append(
                f'<g class="mark {colour(name, names)}{doubt}" tabindex="0" '
                f'data-group="{text(group)}" data-series="{text(name)}" '
                f'data-value="{mark["value"]!r}"><title>{text(mark["hover"])}</title>'
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{width * 0.92:.1f}" '
                f'height="{HEIGHT - BOTTOM - top:.1f}"/>'
                f'<line class="whisker" x1="{left + width * 0.46:.1f}" '
                f'x2="{left + width * 0.46:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/></g>')
    doubtful = any(mark["doubt"] for mark in marks.values())
    return figure(title, "".join(parts), names, origin,
                  WHISKER + (f" Pale, dashed: {pale}." if doubtful else ""))


def lines(title, x_axis, y_axis_, series, note=""):
    """`x_axis`, `y_axis_`: dicts of label, unit and log. `series`: dicts of name, origin, and
    points [x, y]."""
    points = [point for each in series for point in each["points"]]
    if not points:
        return ""
    x = Scale([point[0] for point in points], x_axis["log"], LEFT, WIDTH - RIGHT - 12)
    y = Scale([point[1] for point in points], y_axis_["log"], HEIGHT - BOTTOM, TOP)
    names = [each["name"] for each in series]
    origins = {each["origin"] for each in series}
    parts = [y_axis(y, titled(y_axis_))]
    parts += [label(x(tick), HEIGHT - BOTTOM + 16, short(tick)) for tick in x.ticks]
    parts.append(label((LEFT + WIDTH) / 2, HEIGHT - 6, titled(x_axis), kind="axis"))
    for each in series:
        kind = f"{colour(each['name'], names)} {each['origin']}"
        said = f" ({each['origin']})" if len(origins) > 1 else ""
        path = " ".join(f"{x(px):.1f},{y(py):.1f}" for px, py in each["points"])
        parts.append(f'<polyline class="{kind}" points="{path}"/>')
        parts += [
            f'<g class="mark {kind}" tabindex="0" data-series="{text(each["name"])}" '
            f'data-x="{px!r}" data-value="{py!r}"><title>{text(each["name"])}{said}: '
            f'{text(px)} {text(x_axis["unit"])}: {py:g} {text(y_axis_["unit"])}</title>'
            f'<circle cx="{x(px):.1f}" cy="{y(py):.1f}" r="4"/></g>' for px, py in each["points"]]
    marks = {}
    if len(origins) > 1:
        marks = {each["name"]: f" ({each['origin']})" for each in series}
        note = f"dashed: simulated in virtual time. {note}"
    # Do not label a picture with a simulated series as measured.
    origin = "simulated" if "simulated" in origins else min(origins)
    return figure(title, "".join(parts), names, ORIGINS[origin], note, marks)


def titled(axis):
    return f"{axis['label']}, {axis['unit']}" if axis["unit"] else axis["label"]
