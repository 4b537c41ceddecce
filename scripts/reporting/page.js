// SPDX-License-Identifier: BSD-3-Clause
// Sorts a table by a column; again, the other way round. Rows that are equal keep their order.
"use strict";
for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => {
    const title = button.parentElement;
    const body = title.closest("table").tBodies[0];
    const column = title.cellIndex;
    const sign = title.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const orderOf = (row) => row.cells[column].dataset.order;
    const numbers = [...body.rows].every((row) => orderOf(row).trim() !== "" &&
        (orderOf(row) === "inf" || Number.isFinite(Number(orderOf(row)))));
    const value = (row) => orderOf(row) === "inf" ? Infinity : Number(orderOf(row));
    const compare = numbers ? (a, b) => (value(a) > value(b)) - (value(a) < value(b))
                            : (a, b) => orderOf(a).localeCompare(orderOf(b), "en", {numeric: true});
    const sorted = [...body.rows].sort((a, b) => sign * compare(a, b));
    for (const other of title.parentElement.cells) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
    body.append(...sorted);
  });
}
