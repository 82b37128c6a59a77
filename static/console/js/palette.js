// The command palette: pages and actions at once, names from the server while one types.
import { choose } from "./theme.js";
import { isPaused, setPaused } from "./live.js";

const WAIT_MS = 120;
let timer = 0;
let asked = 0;
let hits = [];
let matches = { total: 0, more: false }; // all that match, those shown among them
let chosen = 0;

function commands() {
  const pages = [...document.querySelectorAll(".sl-nav a")].map((link) => ({
    kind: "page",
    label: link.firstChild.textContent.trim(),
    run: () => location.assign(link.href),
  }));
  const paused = isPaused();
  return [
    ...pages,
    { kind: "command", label: paused ? "Resume live updates" : "Pause live updates", run: () => setPaused(!paused) },
    { kind: "command", label: "Theme: light", run: () => choose("light") },
    { kind: "command", label: "Theme: dark", run: () => choose("dark") },
    { kind: "command", label: "Theme: as the system", run: () => choose("auto") },
    { kind: "command", label: "Copy link to this page", run: () => navigator.clipboard?.writeText(location.href) },
  ];
}

function matching(words) {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  return commands().filter((command) => parts.every((part) => command.label.toLowerCase().includes(part)));
}

function option(hit, index) {
  const item = document.createElement("li");
  item.id = `sl-hit-${index}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", String(index === chosen));
  const name = document.createElement("bdi");
  name.className = "sl-palette__name";
  name.textContent = hit.label;
  const kind = document.createElement("span");
  kind.className = "sl-palette__kind";
  kind.textContent = hit.detail ? `${hit.detail} · ${hit.kind}` : hit.kind;
  item.append(name, kind);
  item.addEventListener("click", () => go(index));
  return item;
}

function parts() {
  const dialog = document.getElementById("sl-palette");
  return {
    dialog,
    input: dialog.querySelector("input"),
    list: dialog.querySelector("[role=listbox]"),
    note: dialog.querySelector("[data-palette-note]"),
  };
}

/** How many answers are shown, and of how many. */
function counted(shown) {
  const { total, more } = matches;
  if (!more && total <= shown) return shown === 1 ? "1 answer" : `${shown} answers`;
  return `${shown} of ${total}${more ? " or more" : ""} answers: type more of the name`;
}

function draw(words) {
  const { input, list, note } = parts();
  chosen = Math.min(chosen, Math.max(0, hits.length - 1));
  list.replaceChildren(...hits.map(option));
  if (hits.length) input.setAttribute("aria-activedescendant", `sl-hit-${chosen}`);
  else input.removeAttribute("aria-activedescendant");
  note.textContent = hits.length ? counted(hits.length) : `Nothing is named “${words}” that you may see.`;
  list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
}

function go(index) {
  const hit = hits[index];
  if (!hit) return;
  parts().dialog.close();
  if (hit.run) hit.run();
  else location.assign(hit.url);
}

async function ask(words) {
  const { dialog } = parts();
  const turn = ++asked;
  const address = new URL(dialog.dataset.paletteUrl, location.href);
  address.searchParams.set("q", words);
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const found = await answer.json();
    if (turn !== asked) return;
    const own = matching(words);
    hits = [...own, ...found.hits];
    matches = { total: own.length + found.total, more: found.more };
    draw(words);
  } catch (error) {
    if (turn === asked) parts().note.textContent = `Names could not be searched: ${error.message}`;
  }
}

function type(event) {
  const words = event.target.value.trim();
  chosen = 0;
  hits = matching(words);
  matches = { total: hits.length, more: false };
  draw(words);
  clearTimeout(timer);
  asked += 1;
  if (words.length > 1) timer = setTimeout(() => ask(words), WAIT_MS);
}

function press(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && hits.length) {
    event.preventDefault();
    chosen = (chosen + step + hits.length) % hits.length;
    draw(event.target.value.trim());
  } else if (event.key === "Enter") {
    event.preventDefault();
    go(chosen);
  }
}

export function openPalette(dialog) {
  dialog.showModal();
  const { input } = parts();
  input.value = "";
  chosen = 0;
  hits = matching("");
  matches = { total: hits.length, more: false };
  draw("");
  input.focus();
}

export function startPalette() {
  const dialog = document.getElementById("sl-palette");
  if (!dialog) return;
  const { input } = parts();
  input.addEventListener("input", type);
  input.addEventListener("keydown", press);
}
