// The rankings of one query: one line per system, one cell per document; the same document lights up in all lists.
const data = JSON.parse(document.getElementById("rankings-data").textContent);
const dialog = document.getElementById("ranking");
const select = document.getElementById("measure");
let current = 0;

function made(tag, classes = "", text = "") {
  const element = document.createElement(tag);
  element.className = classes;
  element.textContent = text;
  return element;
}

const shown = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));

function look(grade) {
  if (grade === null) return ["unjudged", "?", "unjudged"];
  if (grade <= 0) return ["nothing", String(grade), `grade ${grade}`];
  return ["grade", String(grade), `grade ${grade}`];
}

function cell(query, place, rank) {
  const tied = place < 0;
  const number = tied ? ~place : place;
  const name = query.d[number], grade = query.g[number];
  const [classes, mark, words] = look(grade);
  const box = made("div", `document ${classes}${tied ? " tied" : ""}`);
  if (grade > 0) box.style.setProperty("--share", String(Math.min(1, grade / data.most)));
  box.dataset.document = String(number);
  const text = query.t?.[number] ?? "";
  box.dataset.tip = `${rank}. ${name}: ${words}${tied ? ", tied with the one before" : ""}${text ? `. ${text}` : ""}`;
  box.tabIndex = 0;
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", box.dataset.tip);
  const id = made("span", "", name);
  id.dir = "auto";
  box.append(made("b", "", mark), id);
  if (text) {
    const words = made("em", "", text);
    words.dir = "auto";
    box.append(words);
  }
  return box;
}

function table(q, measure) {
  const query = data.lists[q];
  const scores = data.scores[measure].map((line) => line[q]);
  const order = data.systems.map((_, s) => s).sort((a, b) => (scores[b] ?? -Infinity) - (scores[a] ?? -Infinity));
  const whole = made("table");
  const head = whole.createTHead().insertRow();
  for (const label of ["system", data.measures[measure], ...Array.from({ length: data.top }, (_, i) => String(i + 1))]) {
    head.append(made("th", "", label));
  }
  const body = whole.createTBody();
  for (const s of order) {
    const row = body.insertRow();
    const name = made("bdi", "", data.systems[s]);
    row.insertCell().append(name);
    row.cells[0].className = "name";
    row.insertCell().append(made("span", "", shown(scores[s])));
    query.l[s].forEach((place, i) => row.insertCell().append(cell(query, place, i + 1)));
    if (!query.l[s].length) row.insertCell().append(made("span", "", "no list"));
  }
  return whole;
}

function key() {
  const parts = [["unjudged", "unjudged"], ["nothing", "not relevant"], ["grade", "relevant, stronger is better"]];
  return parts.map(([classes, words]) => {
    const part = made("span");
    const box = made("i", classes);
    if (classes === "grade") box.style.setProperty("--share", "0.6");
    part.append(box, words);
    return part;
  });
}

function open(q) {
  current = q;
  const name = data.queries[q];
  const measure = Math.max(0, data.measures.indexOf(select.value));
  const bounds = data.bounds[data.measures[measure]];
  dialog.querySelector("h2").textContent = `Query ${name}`;
  const text = data.texts?.[q] ? `“${data.texts[q]}” ` : "";
  const between = bounds
    ? `${data.measures[measure]} of a random ranking ${shown(bounds[0][q])}, of the ideal one ${shown(bounds[1][q])}. `
    : "";
  dialog.querySelector(".about").textContent = `${text}${between}Point at or tap a document to find it in the other lists.`;
  const lists = dialog.querySelector(".lists");
  if (data.lists.length) {
    dialog.querySelector(".key").replaceChildren(...key());
    lists.classList.toggle("with-texts", Boolean(data.lists[q].t));
    lists.replaceChildren(table(q, measure));
  } else {
    lists.replaceChildren(made("p", "", "This page holds no rankings; a report with a larger --top does."));
  }
  if (!dialog.open) dialog.showModal();
}

if (data) {
  for (const row of document.querySelectorAll("tr[data-query]")) {
    row.querySelector(".open").addEventListener("click", () => open(Number(row.dataset.query)));
  }
  document.addEventListener("calipers:query", (event) => open(data.queries.indexOf(event.detail)));
  for (const button of dialog.querySelectorAll(".step")) {
    button.addEventListener("click", () => {
      const count = data.queries.length;
      open((current + Number(button.dataset.step) + count) % count);
    });
  }
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) dialog.querySelector(`[data-step="${step}"]`).click();
  });
  const lists = dialog.querySelector(".lists");
  for (const kind of ["pointerover", "focusin", "click"]) {
    lists.addEventListener(kind, (event) => {
      const box = event.target.closest(".document");
      lists.classList.toggle("same", box !== null);
      for (const each of lists.querySelectorAll(".document")) {
        each.classList.toggle("this", box !== null && each.dataset.document === box.dataset.document);
      }
    });
  }
  lists.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") lists.classList.remove("same");  // a finger that is lifted leaves, too
  });
}
