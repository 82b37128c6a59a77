// One websocket per tab. Events are hints: a gap in the numbers means "fetch anew", never "guess".
//
// Elements with data-live="topic other:topic" receive the DOM event "sl:refresh" (at most once a second), so
// hx-trigger="sl:refresh" is all that a partial needs. Modules listen with on(topic, callback).
import { clock, duration, serverNow, stateOf } from "./ages.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 46000; // a minute at most, with the jitter
const JITTER = 0.3;
const COALESCE_MS = 1000;
const DRAWING_S = 2;
const PAUSE_KEY = "sl-paused";

const seen = new Map();
const listeners = new Map();
const waiting = new Map();
const asked = new Set(); // of this socket
const status = {
  state: "connecting",
  revision: 0,
  lastAt: 0,
  newer: 0,
  pausedAt: 0,
  gap: null,
  retryAt: 0,
  attempt: 0,
};
let socket = null;
let retryTimer = 0;

/** Wait before attempt n: doubles from half a second up to the longest, give or take 30 %. */
export function waitBefore(attempt, random = Math.random) {
  const plain = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
  return plain * (1 - JITTER + 2 * JITTER * random());
}

/** Judges an event number: "next", "old" (seen before) or "gap". */
export function judge(last, seq) {
  if (last === undefined || seq === last + 1) return "next";
  return seq <= last ? "old" : "gap";
}

export function on(topic, callback) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(callback);
  subscribe([topic]);
}

export function isPaused() {
  return status.pausedAt > 0;
}

export function isStale() {
  return status.state === "stale" || isPaused();
}

function topicsOf(element) {
  return element.dataset.live.split(/\s+/).filter(Boolean);
}

function allTopics() {
  const topics = new Set(listeners.keys());
  for (const element of document.querySelectorAll("[data-live]")) topicsOf(element).forEach((t) => topics.add(t));
  return [...topics];
}

/** When the server drew this page, in seconds; a little earlier, as it reads its rows before it looks at the clock. */
function drawnAt() {
  return Number(document.querySelector("meta[name=sl-now]").content) / 1000 - DRAWING_S;
}

function subscribe(wanted) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  const topics = wanted.filter((topic) => !asked.has(topic));
  if (topics.length === 0) return;
  topics.forEach((topic) => asked.add(topic));
  const known = Object.fromEntries([...seen].filter(([topic]) => topics.includes(topic)));
  socket.send(JSON.stringify({ subscribe: topics, seen: known, since: drawnAt() }));
}

/** Hands one topic's newest event to its listeners, at most once a second, and never while paused. */
function announce(topic, event) {
  const entry = waiting.get(topic) || { timer: 0, event: null, last: 0 };
  waiting.set(topic, entry);
  entry.event = event;
  if (entry.timer || isPaused() || document.hidden) return;
  const delay = Math.max(0, entry.last + COALESCE_MS - performance.now());
  entry.timer = setTimeout(() => flush(topic), delay);
}

function flush(topic) {
  const entry = waiting.get(topic);
  if (!entry) return;
  entry.timer = 0;
  if (!entry.event || isPaused() || document.hidden) return;
  const event = entry.event;
  entry.event = null;
  entry.last = performance.now();
  for (const callback of listeners.get(topic) || []) callback(event);
  for (const element of document.querySelectorAll("[data-live]")) {
    if (topicsOf(element).includes(topic)) element.dispatchEvent(new CustomEvent("sl:refresh", { detail: event }));
  }
}

function flushAll() {
  for (const topic of waiting.keys()) flush(topic);
}

function note(event) {
  status.lastAt = Date.parse(event.at) || serverNow();
  if (event.revision) status.revision = Math.max(status.revision, event.revision);
  if (isPaused()) status.newer += 1;
}

function refetch(topic, from, to) {
  status.gap = [from, to];
  announce(topic, { topic, kind: "gap", revision: status.revision, gap: [from, to] });
}

function receive(message) {
  const event = JSON.parse(message.data);
  const { topic, seq } = event;
  if (!topic) return;
  const last = seen.get(topic);
  if (event.kind === "subscribed" || event.kind === "resync") {
    // The server's number tells what was missed; after a restart of the server numbers begin again.
    seen.set(topic, seq);
    if (last !== undefined && seq !== last) refetch(topic, last + 1, seq);
    // Said between the drawing of this page and now.
    else if (last === undefined && event.missed) announce(topic, { topic, kind: "missed", revision: 0 });
    return;
  }
  const verdict = judge(last, seq);
  if (verdict === "old") return;
  seen.set(topic, seq);
  note(event);
  if (verdict === "gap") refetch(topic, last + 1, seq - 1);
  announce(topic, event);
  draw();
}

function connect() {
  clearTimeout(retryTimer);
  const url = new URL(document.body.dataset.liveUrl, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const own = new WebSocket(url);
  socket = own;
  own.addEventListener("open", opened);
  own.addEventListener("message", receive);
  own.addEventListener("close", (event) => {
    if (own === socket) closed(event.code);
  });
}

function opened() {
  asked.clear();
  status.attempt = 0;
  status.retryAt = 0;
  status.state = "live";
  status.lastAt ||= serverNow();
  subscribe(allTopics());
  draw();
}

function closed(code) {
  socket = null;
  status.state = { 4401: "signed out", 4403: "not allowed" }[code] ?? "offline";
  if (status.state === "offline" && !document.hidden) retry();
  draw();
}

/** The network is gone: say so at once instead of waiting for the socket to find out. */
function lose() {
  const lost = socket;
  if (!lost) return;
  closed(0);
  lost.close();
}

function retry() {
  const wait = waitBefore(status.attempt);
  status.attempt += 1;
  status.retryAt = Date.now() + wait;
  clearTimeout(retryTimer);
  retryTimer = setTimeout(connect, wait);
}

export function setPaused(paused) {
  if (paused === isPaused()) return;
  status.pausedAt = paused ? serverNow() : 0;
  status.newer = 0;
  try {
    if (paused) sessionStorage.setItem(PAUSE_KEY, String(status.pausedAt));
    else sessionStorage.removeItem(PAUSE_KEY);
  } catch {
    // The pause then ends with the page.
  }
  draw();
  if (!paused) flushAll();
  document.dispatchEvent(new CustomEvent("sl:paused", { detail: { paused } }));
}

/** What the badge says: [state, word, fact]. */
function wording() {
  if (status.state === "signed out") return ["offline", "Signed out", "sign in again"];
  if (status.state === "not allowed") return ["offline", "Not allowed", ""];
  if (isPaused()) return ["paused", "Paused", `${status.newer} newer since ${clock(status.pausedAt)}`];
  if (status.state === "connecting") return ["connecting", "Connecting", ""];
  if (status.state === "offline") {
    const seconds = Math.ceil((status.retryAt - Date.now()) / 1000);
    return ["offline", "Offline", seconds > 0 ? `retry in ${seconds} s` : "connecting"];
  }
  return byAge();
}

function byAge() {
  const board = document.querySelector("[data-live-at]");
  const at = board ? Number(board.dataset.liveAt) : status.lastAt;
  const seconds = (serverNow() - at) / 1000;
  const state = stateOf(seconds, Number(board?.dataset.delayed || 5), Number(board?.dataset.stale || 30));
  const revision = Number(board?.dataset.revision || status.revision);
  const age = duration(seconds);
  const fact = revision ? `${age}, rev ${revision.toLocaleString("en-US")}` : age;
  if (!board) return ["live", "Live", status.revision ? fact : ""];
  return [state, state[0].toUpperCase() + state.slice(1), fact];
}

function show(badge, name, visible) {
  const button = badge.querySelector(`[data-live-act="${name}"]`);
  if (button) button.hidden = !visible;
}

function draw() {
  for (const badge of document.querySelectorAll("[data-live-badge]")) {
    const [state, word, fact] = wording();
    badge.dataset.state = state;
    badge.querySelector("[data-live-word]").textContent = word;
    badge.querySelector("[data-live-fact]").textContent = fact;
    show(badge, "pause", !isPaused());
    show(badge, "resume", isPaused());
    show(badge, "reload", state === "stale" || word === "Signed out");
  }
}

function comeBack() {
  if (document.hidden) return;
  if (!socket && status.state === "offline") {
    status.attempt = 0;
    connect();
  }
  flushAll();
}

function act(event) {
  const button = event.target.closest("[data-live-act]");
  if (!button) return;
  if (button.dataset.liveAct === "reload") location.reload();
  else setPaused(button.dataset.liveAct === "pause");
}

export function startLive() {
  if (!document.body.dataset.liveUrl) return;
  try {
    status.pausedAt = Number(sessionStorage.getItem(PAUSE_KEY)) || 0;
  } catch {
    status.pausedAt = 0;
  }
  document.addEventListener("click", act);
  document.addEventListener("visibilitychange", comeBack);
  addEventListener("offline", lose);
  addEventListener("online", comeBack);
  // A swapped partial may bring topics that nobody listened to before.
  document.addEventListener("htmx:after:swap", () => subscribe(allTopics()));
  setInterval(draw, 1000);
  connect();
  draw();
}
