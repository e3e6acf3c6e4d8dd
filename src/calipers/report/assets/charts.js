// Draws the charts one after the other, and again when the measure, the theme or the width changes.
const specs = JSON.parse(document.getElementById("charts-data").textContent);
const select = document.getElementById("measure");
const drawn = new Map();  // by figure: the measure it shows, and its view
const MANY = 4000;  // with more marks, a canvas is faster than SVG

// -- data: rows were written by column -----------------------------------------------------------------------------
function rows(columns) {
  const lists = Object.entries(columns).map(([name, values]) =>
    [name, Array.isArray(values) ? values : values.at.map((i) => values.words[i])]);
  return lists[0][1].map((_, i) => Object.fromEntries(lists.map(([name, values]) => [name, values[i]])));
}

function unpacked(part) {
  if (Array.isArray(part)) return part.map(unpacked);
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) =>
    [key, key === "data" && value?.columns ? { values: rows(value.columns) } : unpacked(value)]));
}

const marks = (spec) => [spec, ...(spec.layer ?? [])].reduce((sum, each) => sum + (each.data?.values?.length ?? 0), 0);

// -- colours -------------------------------------------------------------------------------------------------------
const probe = document.createElement("span");
document.body.append(probe);
function colour(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

// A chart with names on its left has room for only one column of legend below it.
const hasNames = (spec) => [spec, ...(spec.layer ?? [])].some((part) => part.encoding?.y?.type === "nominal");

function config(figure, spec) {
  const text = colour("--text"), muted = colour("--muted"), line = colour("--line");
  const font = getComputedStyle(document.body).fontFamily;
  const words = { labelFont: font, titleFont: font, labelColor: muted, titleColor: muted, labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal" };
  return {
    background: "transparent", font, view: { stroke: null },
    axis: { ...words, labelColor: text, domainColor: line, gridColor: line, tickColor: line, titlePadding: 10 },
    axisQuantitative: { tickCount: narrow() ? 4 : 8, labelOverlap: "greedy", labelSeparation: 6 },
    legend: { ...words, disable: "plain" in figure.dataset, orient: narrow() ? "bottom" : "right", columns: narrow() && !hasNames(spec) ? 2 : 1, labelLimit: 0 },
    text: { color: text, font },
  };
}

// A canvas does not follow the style sheet, so its colours are replaced here.
const inTheme = (spec) => JSON.parse(JSON.stringify(spec)
  .replaceAll('"#dfe3e8"', JSON.stringify(colour("--quiet")))
  .replaceAll('"#0072B2"', JSON.stringify(colour("--blue")))
  .replaceAll('"white"', JSON.stringify(colour("--paper"))));

// -- as wide as its place ------------------------------------------------------------------------------------------
const narrow = () => innerWidth < 720;
const LETTER = 6.4;  // approximate width of a letter of an axis in pixels
const LETTERS = 26;  // longer names are shortened, see plot/specifications.py

// Makes the cells of a matrix as large as its place allows, but at least 4 pixels; a larger matrix scrolls.
function fitted(spec, figure) {
  if (!spec.width?.step) return spec;
  const first = spec.encoding ?? spec.layer[0].encoding;
  const names = first.x.scale.domain;
  const label = LETTER * Math.min(LETTERS, Math.max(...names.map((name) => name.length))) + 16;
  const cell = Math.min(110, Math.max(4, Math.floor((figure.clientWidth - label - 12) / names.length)));
  const size = Math.max(5, Math.min(11, cell - 1));
  const axis = { labelFontSize: size, labelLimit: 0, labelOverlap: cell < 7 };
  const parts = [spec, ...(spec.layer ?? [])].filter((part) => part.encoding);
  for (const part of parts) {
    for (const side of ["x", "y"]) part.encoding[side].axis = { ...part.encoding[side].axis, ...axis };
    if (part.mark?.type === "text") part.mark.fontSize = Math.max(7, Math.min(11, cell / 4.4));
  }
  return { ...spec, width: { step: cell }, height: { step: Math.min(cell, 44) } };
}

// The width of the names or numbers to the left of a chart, in pixels.
function nameWidth(spec) {
  const names = [spec, ...(spec.layer ?? [])].flatMap((part) => part.encoding?.y?.scale?.domain ?? []).filter((each) => typeof each === "string");
  return Math.max(90, LETTER * Math.min(LETTERS, Math.max(0, ...names.map((name) => name.length))) + 30);
}

// Breaks long titles of axes into lines.
function wrapped(part, figure, height, left = nameWidth(part)) {
  for (const side of ["x", "y"]) {
    const channel = part.encoding?.[side];
    if (!channel) continue;
    const letters = Math.floor((side === "x" ? figure.clientWidth - left : height) / LETTER);
    if (typeof channel.title === "string" && channel.title.length > letters) channel.title = lines(channel.title, letters);
  }
  for (const each of part.layer ?? []) wrapped(each, figure, height, left);
}

function lines(text, letters) {
  const found = [""];
  for (const word of text.split(" ")) {
    const last = found.length - 1;
    if (found[last] && found[last].length + word.length >= letters) found.push(word);
    else found[last] = found[last] ? `${found[last]} ${word}` : word;
  }
  return found;
}

// -- drawing -------------------------------------------------------------------------------------------------------
async function draw(figure) {
  const variants = specs[figure.dataset.chart] ?? {};
  const measure = "" in variants ? "" : select.value;
  const before = drawn.get(figure);
  if (before?.measure === measure) return;
  if (!(measure in variants)) {
    before?.view?.finalize();
    figure.textContent = `This chart does not exist for ${measure}.`;
    drawn.set(figure, { measure });
    return;
  }
  const spec = fitted(unpacked(variants[measure]), figure);
  if (!spec.width?.step) wrapped(spec, figure, typeof spec.height === "number" ? spec.height : 300);
  const renderer = marks(spec) > MANY ? "canvas" : "svg";
  before?.view?.finalize();
  const result = await window.vegaEmbed(figure, renderer === "canvas" ? inTheme(spec) : spec, {
    renderer, config: config(figure, spec), ast: true, logLevel: 1,
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: figure.dataset.chart,
  });
  result.view.addEventListener("click", (event, item) => {
    if (item?.datum?.query !== undefined) {
      document.dispatchEvent(new CustomEvent("calipers:query", { detail: item.datum.query }));
    }
  });
  drawn.set(figure, { measure, renderer, view: result.view, width: figure.clientWidth, steps: Boolean(spec.width?.step) });
  named(figure);
  figure.dispatchEvent(new Event("scroll"));  // updates the hint that there is more to scroll to
  figure.dataset.drawn = measure;
}

// For screen readers: a chart is one picture with a name. Its figures are in the tables.
function named(figure) {
  const picture = figure.querySelector("svg, canvas");
  picture?.setAttribute("role", "img");
  picture?.setAttribute("aria-label", figure.getAttribute("aria-label"));
  for (const part of figure.querySelectorAll("svg [role], svg [aria-roledescription], svg [aria-label]")) {
    for (const name of ["role", "aria-roledescription", "aria-label"]) part.removeAttribute(name);
  }
  figure.querySelector("details summary")?.setAttribute("aria-label", "save the chart");
}

const idle = () => new Promise((done) => setTimeout(done));
let turn = 0;

async function drawAll() {
  const mine = ++turn;
  document.body.dataset.charts = "drawing";
  for (const figure of document.querySelectorAll(".chart")) {
    await idle();
    if (mine !== turn) return;  // a newer call draws the charts
    try {
      await draw(figure);
    } catch (error) {
      figure.textContent = `This chart could not be drawn (${error.message}).`;
      console.error(error);
    }
  }
  document.body.dataset.charts = "drawn";
}

select.addEventListener("change", () => {
  for (const each of document.querySelectorAll(".conclusion")) each.hidden = each.dataset.measure !== select.value;
  drawAll();
});
document.addEventListener("calipers:theme", () => {
  for (const [figure, { renderer }] of drawn) if (renderer === "canvas") drawn.delete(figure);
  drawAll();
});
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const [figure, each] of drawn) if (Math.abs((each.width ?? 0) - figure.clientWidth) > 40) drawn.delete(figure);
    drawAll();
  }, 250);
});
drawAll();

// -- where the reader is -------------------------------------------------------------------------------------------
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of links.values()) link.classList.remove("here");
    links.get(entry.target.id)?.classList.add("here");
  }
}, { rootMargin: "-20% 0px -70% 0px" });
for (const section of document.querySelectorAll("main > section")) seen.observe(section);
