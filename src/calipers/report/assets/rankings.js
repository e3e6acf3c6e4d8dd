// The rankings of one query: two systems side by side. The same document lights up in both lists.
const data = JSON.parse(document.getElementById("rankings-data").textContent);
const dialog = document.getElementById("ranking");
const select = document.getElementById("measure");
let current = 0;
let chosen = null;  // the two systems that the reader chose

function made(tag, classes = "", text = "") {
  const element = document.createElement(tag);
  element.className = classes;
  element.textContent = text;
  return element;
}

const shown = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));
const measureNumber = () => Math.max(0, data.measures.indexOf(select.value));
const linkOf = (q) => `#query=${encodeURIComponent(data.queries[q].replace(/[\ud800-\udfff]/gu, "\ufffd"))}`;

// Class, mark and words of a grade.
function look(grade) {
  if (grade === null) return ["unjudged", "?", "unjudged"];
  if (grade <= 0) return ["nothing", String(grade), `grade ${grade}`];
  return ["grade", String(grade), `grade ${grade}`];
}

// The two systems to show: the reader's choice, the old and the new one, or the best two under the measure.
function pair() {
  if (chosen) return chosen;
  if (data.systems.length < 2) return [0];
  if (data.pair) return data.pair;
  const mean = data.scores[measureNumber()].map((line) => {
    const known = line.filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : -Infinity;
  });
  return mean.map((_, s) => s).sort((a, b) => mean[b] - mean[a]).slice(0, 2);
}

function item(query, place, rank, other) {
  const tied = place < 0;
  const number = tied ? ~place : place;
  const name = query.d[number], grade = query.g[number];
  const [classes, mark, words] = look(grade);
  const text = query.t?.[number] ?? "";
  const line = made("li", `document ${classes}${tied ? " tied" : ""}`);
  if (grade > 0) line.style.setProperty("--share", String(Math.min(1, grade / data.most)));
  line.dataset.document = String(number);
  line.tabIndex = 0;
  const id = made("span", "id", name);
  id.dir = "auto";
  const rest = made("span", "words");
  rest.append(id);
  if (text) {
    const title = made("em", "", text);
    title.dir = "auto";
    rest.append(title);
  }
  line.append(made("span", "rank", String(rank)), made("b", "", mark), rest);
  const there = other?.get(number);
  const elsewhere = there === undefined ? "not in the other list" : there === rank ? "same rank in the other list" : `rank ${there} in the other list`;
  if (other) line.append(made("small", "", there === undefined ? "only here" : there === rank ? "=" : `${there < rank ? "↑" : "↓"} ${there}`));
  line.setAttribute("aria-label", `${rank}. ${name}: ${words}${tied ? ", tied with the document above" : ""}${other ? `, ${elsewhere}` : ""}${text ? `. ${text}` : ""}`);
  return line;
}

const ranks = (list) => new Map(list.map((place, i) => [place < 0 ? ~place : place, i + 1]));

function side(q, systems, at) {
  const query = data.lists[q], system = systems[at];
  const box = made("div", "side");
  const pick = made("select");
  pick.setAttribute("aria-label", at ? "second system" : "first system");
  data.systems.forEach((name, s) => pick.append(new Option(name, s, s === system, s === system)));
  pick.addEventListener("change", () => {
    chosen = systems.map((each, i) => (i === at ? Number(pick.value) : each));
    open(q);
  });
  const head = made("p", "system");
  head.append(data.systems.length > 2 ? pick : made("bdi", "", data.systems[system]));
  head.append(made("span", "score", `${data.measures[measureNumber()]} ${shown(data.scores[measureNumber()][system][q])}`));
  const list = made("ol");
  const other = systems.length > 1 ? ranks(query.l[systems[1 - at]]) : null;
  query.l[system].forEach((place, i) => list.append(item(query, place, i + 1, other)));
  box.append(head, query.l[system].length ? list : made("p", "", "This system has no list for this query."));
  return box;
}

function key() {
  const parts = [["unjudged", "unjudged"], ["nothing", "not relevant"], ["grade", "relevant (darker: higher grade)"], ["nothing tied", "tied with the document above"]];
  return parts.map(([classes, words]) => {
    const part = made("span");
    const box = made("i", classes);
    if (classes === "grade") box.style.setProperty("--share", "0.6");
    part.append(box, words);
    return part;
  });
}

function open(q) {
  if (q < 0) return;
  current = q;
  const measure = data.measures[measureNumber()];
  const bounds = data.bounds[measure];
  dialog.querySelector("h2").textContent = `Query ${data.queries[q]}`;
  dialog.querySelector("a.link").href = linkOf(q);
  const text = data.texts?.[q] ? `“${data.texts[q]}” ` : "";
  const between = bounds ? `${measure} of a random ranking: ${shown(bounds[0][q])}; of the ideal ranking: ${shown(bounds[1][q])}. ` : "";
  const hint = data.systems.length > 1 ? "Point at a document or tap it to find it in the other list. Arrows show its rank there." : "";
  dialog.querySelector(".about").textContent = `${text}${between}${hint}`;
  const lists = dialog.querySelector(".lists");
  if (data.lists.length) {
    const systems = pair();
    dialog.querySelector(".key").replaceChildren(...key());
    lists.replaceChildren(...systems.map((_, at) => side(q, systems, at)));
  } else {
    lists.replaceChildren(made("p", "", "This page has no rankings. A report with a larger --top has them."));
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
    const step = event.target.tagName === "SELECT" ? 0 : { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) dialog.querySelector(`[data-step="${step}"]`).click();
  });
  const lists = dialog.querySelector(".lists");
  for (const kind of ["pointerover", "focusin", "click"]) {
    lists.addEventListener(kind, (event) => {
      const box = event.target.closest(".document");
      for (const each of lists.querySelectorAll(".document")) {
        each.classList.toggle("this", box !== null && each.dataset.document === box.dataset.document);
      }
    });
  }
  lists.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return;  // lifting a finger also counts as leaving
    for (const each of lists.querySelectorAll(".this")) each.classList.remove("this");
  });
  // A link to one query: report.html#query=12
  const follow = () => { if (location.hash.startsWith("#query=")) open(data.queries.findIndex((_, q) => linkOf(q) === location.hash)); };
  addEventListener("hashchange", follow);
  follow();
}
