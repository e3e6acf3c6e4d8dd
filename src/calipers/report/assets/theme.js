// Light or dark: the setting of the system, until the reader chooses.
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const KEY = "calipers-theme";

function remembered() {
  try { return localStorage.getItem(KEY); } catch { return null; }  // storage may be forbidden for local files
}

const now = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
const tell = () => document.dispatchEvent(new CustomEvent("calipers:theme"));

const chosen = remembered();
if (chosen === "light" || chosen === "dark") {
  root.dataset.theme = chosen;
  tell();
}
document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = now() === "dark" ? "light" : "dark";
  try { localStorage.setItem(KEY, root.dataset.theme); } catch { /* the choice is not stored */ }
  tell();
});
dark.addEventListener("change", tell);
