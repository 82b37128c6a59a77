// Ages tick here, against the server's clock; the limits come with each badge.
const meta = document.querySelector('meta[name="sl-now"]');
const skew = meta ? Number(meta.content) - Date.now() : 0;

export function serverNow() {
  return Date.now() + skew;
}

export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (whole >= size) return `${Math.floor(whole / size)} ${unit}`;
  }
  return `${whole} s`;
}

export function clock(ms) {
  return new Date(ms).toISOString().slice(11, 19);
}

export function stateOf(seconds, delayed = 5, stale = 30) {
  if (seconds >= stale) return "stale";
  return seconds >= delayed ? "delayed" : "live";
}

function tick(badge, now) {
  const at = Number(badge.dataset.at);
  const seconds = (now - at) / 1000;
  const state = stateOf(seconds, Number(badge.dataset.delayed), Number(badge.dataset.stale));
  const words = seconds < 3600 ? duration(seconds) : clock(at);
  if (badge.dataset.state !== state) {
    badge.dataset.state = state;
    badge.querySelector("[data-age-word]").textContent = `${state}, `;
  }
  const text = badge.querySelector("[data-age-text]");
  if (text.textContent !== words) text.textContent = words;
}

export function tickAll() {
  const now = serverNow();
  for (const badge of document.querySelectorAll(".sl-age[data-at]")) tick(badge, now);
}

export function startAges() {
  tickAll();
  setInterval(() => {
    if (!document.hidden) tickAll();
  }, 1000);
  document.addEventListener("visibilitychange", tickAll);
}
