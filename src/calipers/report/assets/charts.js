// Charts: drawn one after the other, again where the measure changes, and in the colours of the theme.
const specs = JSON.parse(document.getElementById("charts-data").textContent);
const select = document.getElementById("measure");
const drawn = new Map();  // of each place: what it shows, and its view
const MANY = 4000;  // marks above which pixels are quicker than shapes

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

function config(figure) {
  const text = colour("--text"), muted = colour("--muted"), line = colour("--line");
  const font = getComputedStyle(document.body).fontFamily;
  const words = { labelFont: font, titleFont: font, labelColor: muted, titleColor: muted, labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal" };
  return {
    background: "transparent", font, view: { stroke: null },
    axis: { ...words, labelColor: text, domainColor: line, gridColor: line, tickColor: line, titlePadding: 10 },
    axisQuantitative: { tickCount: innerWidth < 720 ? 4 : 8 },
    legend: { ...words, disable: "plain" in figure.dataset, orient: innerWidth < 720 ? "bottom" : "right", columns: innerWidth < 720 ? 2 : 1, labelLimit: 220 },
    text: { color: text, font },
  };
}

// Pixels cannot follow the style sheet, so what it would change is changed here.
const inTheme = (spec) => JSON.parse(JSON.stringify(spec)
  .replaceAll('"#dfe3e8"', JSON.stringify(colour("--quiet")))
  .replaceAll('"#0072B2"', JSON.stringify(colour("--blue")))
  .replaceAll('"white"', JSON.stringify(colour("--paper"))));

// -- drawing -------------------------------------------------------------------------------------------------------
async function draw(figure) {
  const variants = specs[figure.dataset.chart] ?? {};
  const measure = "" in variants ? "" : select.value;
  const before = drawn.get(figure);
  if (before?.measure === measure) return;
  if (!(measure in variants)) {
    before?.view?.finalize();
    figure.textContent = `There is no such chart for ${measure}.`;
    drawn.set(figure, { measure });
    return;
  }
  const spec = unpacked(variants[measure]);
  const renderer = marks(spec) > MANY ? "canvas" : "svg";
  before?.view?.finalize();
  const result = await window.vegaEmbed(figure, renderer === "canvas" ? inTheme(spec) : spec, {
    renderer, config: config(figure), ast: true, logLevel: 1,
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: figure.dataset.chart,
  });
  result.view.addEventListener("click", (event, item) => {
    if (item?.datum?.query !== undefined) {
      document.dispatchEvent(new CustomEvent("calipers:query", { detail: item.datum.query }));
    }
  });
  drawn.set(figure, { measure, renderer, view: result.view });
  figure.dataset.drawn = measure;
}

const idle = () => new Promise((done) => setTimeout(done));
let turn = 0;

async function drawAll() {
  const mine = ++turn;
  document.body.dataset.charts = "drawing";
  for (const figure of document.querySelectorAll(".chart")) {
    await idle();
    if (mine !== turn) return;  // something newer has begun
    try {
      await draw(figure);
    } catch (error) {
      figure.textContent = `This chart could not be drawn (${error.message}).`;
      console.error(error);
    }
  }
  document.body.dataset.charts = "drawn";
}

select.addEventListener("change", drawAll);
document.addEventListener("calipers:theme", () => {
  for (const [figure, { renderer }] of drawn) if (renderer === "canvas") drawn.delete(figure);
  drawAll();
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
