"use strict";
/* What a browser adds to a page that is whole without it: sorting, filtering, copying. */
(() => {
  const LONG = 8;

  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };

  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });

  const sortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      if (!head.textContent) button.setAttribute("aria-label", "Sort by this column");
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const first = head.classList.contains("number") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...body.rows];
        rows.sort((a, b) => sign * compare(key(a, column), key(b, column)));
        body.append(...rows);
      });
    });
  };

  const filterable = (table) => {
    const rows = [...table.tBodies[0].rows];
    const tools = document.createElement("div");
    const label = document.createElement("label");
    const input = document.createElement("input");
    const shown = document.createElement("span");
    tools.className = "tools";
    shown.className = "note";
    shown.setAttribute("role", "status");
    input.type = "search";
    label.append("Filter rows ", input);
    tools.append(label, shown);
    table.parentElement.before(tools);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let number = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) number += 1;
      }
      shown.textContent = words.length ? `${number} of ${rows.length} rows` : "";
    });
  };

  const copyable = (place) => {
    const code = place.querySelector("code");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        /* Without the right to write: the text is selected, to be copied by hand. */
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    place.append(" ", button);
  };

  for (const table of document.querySelectorAll("table")) {
    const rows = table.tBodies[0].rows.length;
    if (rows > 2) sortable(table);
    if (rows > LONG) filterable(table);
  }
  document.querySelectorAll(".filter").forEach(copyable);
})();
