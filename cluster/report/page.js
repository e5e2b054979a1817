// A click on a column's head sorts the table; without scripts the table is read as it is.
for (const head of document.querySelectorAll("th button")) {
  head.addEventListener("click", () => {
    const cell = head.parentElement, body = cell.closest("table").tBodies[0], at = cell.cellIndex;
    const up = cell.getAttribute("aria-sort") !== "ascending";
    for (const other of cell.parentElement.children) other.removeAttribute("aria-sort");
    cell.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => row.cells[at].dataset.value ?? row.cells[at].textContent;
    const compare = (a, b) => (isNaN(value(a)) || isNaN(value(b)) ? value(a).localeCompare(value(b)) : value(a) - value(b));
    body.append(...[...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a))));
  });
}
