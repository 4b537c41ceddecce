# SPDX-License-Identifier: BSD-3-Clause
"""Draws the table: a column of panels per mode, bars per interface. Error bars range from the best
sample to the median."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PANELS = [("cycles_spread", "worker cycles per packet"), ("mpps_spread", "Mpps")]


def draw_bars(axes, rows, spread_name):
    traffics = list(dict.fromkeys(r["traffic"] for r in rows))
    ifaces = list(dict.fromkeys(r["iface"] for r in rows))
    width = 0.8 / len(ifaces)
    for i, iface in enumerate(ifaces):
        for label, row in zip([iface] + ["_"] * len(rows), (r for r in rows if r["iface"] == iface)):
            value = row[spread_name]
            axes.bar(traffics.index(row["traffic"]) + i * width, value["value"], width,
                     color=f"C{i}", label=label, capsize=2,
                     yerr=[[value["value"] - value["low"]], [value["high"] - value["value"]]])
    axes.set_xticks([t + 0.4 - width / 2 for t in range(len(traffics))], traffics)
    axes.set_ylim(bottom=0)


def plot(path, rows, title):
    ours = [r for r in rows if not r.get("peer")]
    columns = list(dict.fromkeys((r["app"], r["mode"]) for r in ours))
    figure, axes = plt.subplots(len(PANELS), len(columns), squeeze=False,
                                figsize=(6 * len(columns), 7), layout="constrained")
    for column, (app, mode) in enumerate(columns):
        for line, (spread_name, label) in enumerate(PANELS):
            panel = axes[line][column]
            draw_bars(panel, [r for r in ours if (r["app"], r["mode"]) == (app, mode)], spread_name)
            panel.set_ylabel(label)
            panel.set_title(f"{app} {mode}" if line == 0 else "")
        axes[0][column].legend()
        axes[-1][column].set_xlabel("frame size in bytes, or traffic")
    figure.suptitle(title, fontsize=9)
    figure.savefig(path, dpi=120, format="png")
