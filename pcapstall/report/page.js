"use strict";
// What the page can do better than without: sort and filter the table, enlarge pictures, tell of a mark what it is.
// Text from a capture is only ever moved about as text.

// A cell's value: a number where it is one (">4500.0" is longer than any 4500.0), absent ones last.
function valueOf(row, column) {
  const text = row.cells[column].textContent.trim();
  if (text === "-") return null;
  const number = Number(text.replace(/^>/, ""));
  return text !== "" && !Number.isNaN(number) ? number + (text.startsWith(">") ? 1e-9 : 0) : text;
}

function compare(one, other) {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending";
      const isText = typeof valueOf(table.tBodies[0].rows[0], column) === "string";
      const first = isText ? "ascending" : "descending";
      const now = head.hasAttribute("aria-sort") ? (down ? "ascending" : "descending") : first;
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
      rows.sort(([one], [other]) => (one === null || other === null ? compare(one, other) : sign * compare(one, other)));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

function filterable(table) {
  const tools = document.createElement("div");
  tools.className = "tools filter";
  const label = document.createElement("label");
  label.textContent = "Only rows with ";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "an address, a cause, a name";
  label.append(input);
  const told = document.createElement("span");
  told.setAttribute("role", "status");
  tools.append(label, told);
  table.parentElement.before(tools);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...table.tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    told.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
}

function enlargeable(figure) {
  const scroll = figure.querySelector(".scroll");
  const svg = scroll.querySelector("svg");
  const natural = svg.viewBox.baseVal.width;
  let scale = 0;
  const tools = document.createElement("div");
  tools.className = "tools";
  const now = document.createElement("span");
  const apply = (wanted) => {
    const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / scroll.scrollWidth;
    scale = wanted;
    svg.style.width = scale ? `${natural * scale}px` : "";
    svg.style.maxWidth = scale ? "none" : "";
    svg.style.minWidth = scale ? "0" : "";
    scroll.scrollLeft = middle * scroll.scrollWidth - scroll.clientWidth / 2;
    now.textContent = scale ? `${Math.round(scale * 100)}%` : "";
  };
  const by = (factor) => apply(Math.min(Math.max((scale || svg.clientWidth / natural) * factor, 0.3), 8));
  const actions = [["+", "larger", () => by(1.4)], ["\u2212", "smaller", () => by(1 / 1.4)], ["0", "as it was", () => apply(0)]];
  for (const [sign, words, act] of actions) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", `${words}: ${svg.getAttribute("aria-label").split(". ")[0]}`);
    button.title = words;
    button.addEventListener("click", act);
    tools.append(button);
  }
  const hint = document.createElement("span");
  hint.className = "hint";
  hint.textContent = "keys: + \u2212 0; \u2191 \u2193 from mark to mark";
  tools.prepend(hint);
  tools.append(now);
  figure.prepend(tools);

  const detail = document.createElement("p");
  detail.className = "detail";
  detail.setAttribute("role", "status");
  scroll.after(detail);
  const marks = [...svg.querySelectorAll(".m")];
  const tell = (mark) => {
    const title = mark && mark.querySelector("title");
    if (title) detail.textContent = title.textContent;
  };
  scroll.addEventListener("mouseover", (event) => tell(event.target.closest(".m")));
  // Not of the svg: one that listens for the focus would be a stop for Tab.
  scroll.addEventListener("focusin", (event) => tell(event.target.closest(".m")));
  if (marks.length) svg.setAttribute("role", "group");
  marks.forEach((mark, at) => mark.setAttribute("tabindex", at ? "-1" : "0"));
  scroll.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { "+": actions[0], "=": actions[0], "-": actions[1], "0": actions[2] }[event.key];
    if (act) act[2]();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = marks.indexOf(document.activeElement);
    if (step && at >= 0 && marks[at + step]) {
      marks[at].setAttribute("tabindex", "-1");
      marks[at + step].setAttribute("tabindex", "0");
      marks[at + step].focus();
    }
    if (act || (step && at >= 0)) event.preventDefault();
  });
}

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length > 1) {
    sortable(table);
    filterable(table);
  }
}
for (const figure of document.querySelectorAll("figure.picture")) enlargeable(figure);
