// Sorting, filtering and downloads of tables, and tooltips.
const byText = new Intl.Collator(undefined, { numeric: true });

function sort(table, place) {
  const heads = [...table.tHead.rows[0].cells];
  const head = heads[place];
  const numeric = head.classList.contains("number");
  const before = head.getAttribute("aria-sort");
  const descending = before ? before === "ascending" : numeric;
  for (const each of heads) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const value = (row) => row.cells[place].dataset.value;
  const sign = descending ? -1 : 1;
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => {
    const x = value(a), y = value(b);
    if (x === "" || y === "") return (x === "") - (y === "");  // undefined values come last in both directions
    return sign * (numeric ? Number(x) - Number(y) : byText.compare(x, y));
  });
  table.tBodies[0].append(...rows);
}

function filter(grid, words) {
  const rows = [...grid.querySelectorAll("tbody tr")];
  const wanted = words.trim().toLowerCase();
  let shown = 0;
  for (const row of rows) {
    const texts = [...row.cells].filter((cell) => cell.classList.contains("text")).map((cell) => cell.dataset.value);
    row.hidden = !texts.join("\n").toLowerCase().includes(wanted);
    shown += !row.hidden;
  }
  const count = grid.querySelector(".count");
  count.dataset.all ??= count.textContent;
  count.textContent = wanted ? `${shown} of ${count.dataset.all}` : count.dataset.all;
}

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function csv(grid) {
  const heads = [...grid.querySelectorAll("thead th")];
  const line = (cells) => cells.map(quoted).join(",");
  const columns = heads.flatMap((head) => {
    const label = head.textContent.trim();
    return "interval" in head.dataset ? [label, `${label} low`, `${label} high`] : [label];
  });
  const rows = [...grid.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
  const lines = rows.map((row) => line([...row.cells].flatMap((cell, i) => {
    const data = cell.dataset;
    return "interval" in heads[i].dataset ? [data.value, data.low ?? "", data.high ?? ""] : [data.value];
  })));
  return [line(columns), ...lines].join("\n") + "\n";
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

for (const grid of document.querySelectorAll(".grid")) {
  const table = grid.querySelector("table");
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    head.querySelector("button").addEventListener("click", () => sort(table, place));
  });
  grid.querySelector("input")?.addEventListener("input", (event) => {
    filter(grid, event.target.value);
    cue(grid.querySelector(".scroll"));
  });
  grid.querySelector(".csv")?.addEventListener("click", () => download(`${grid.dataset.grid}.csv`, csv(grid)));
}

// -- hints below tables and charts that scroll ------------------------------------------------------------------------
function cue(scroll) {
  const frame = scroll.parentElement;
  frame.classList.toggle("longer", scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight > 4);
  frame.classList.toggle("wider", scroll.scrollWidth - scroll.scrollLeft - scroll.clientWidth > 4);
}
const sized = new ResizeObserver((entries) => { for (const entry of entries) cue(entry.target); });
for (const scroll of document.querySelectorAll(".scroll, .frame > .chart")) {
  scroll.addEventListener("scroll", () => cue(scroll), { passive: true });
  sized.observe(scroll);
  cue(scroll);
}

// -- tips: by pointer, keyboard and touch ----------------------------------------------------------------------------
const tip = document.getElementById("tip");

function show(element) {
  (element.closest("dialog") ?? document.body).append(tip);  // an open dialog covers everything outside of it
  tip.textContent = element.dataset.tip;
  tip.hidden = false;
  const at = element.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left), innerWidth - tip.offsetWidth - 8);
  const above = at.top - tip.offsetHeight - 8;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 8 ? above : at.bottom + 8}px`;
}

const owner = (event) => (event.target instanceof Element ? event.target.closest("[data-tip]") : null);
for (const kind of ["pointerover", "focusin", "click"]) {
  document.addEventListener(kind, (event) => {
    const element = owner(event);
    if (element) show(element);
    else tip.hidden = true;
  });
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
document.addEventListener("scroll", () => { tip.hidden = true; }, true);
