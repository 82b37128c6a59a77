// Plotly with our defaults. Colours come from the tokens, so a chart drawn through draw() follows the theme by itself.
const drawn = new Map();

export const CIVIDIS = [
  "#00224e", "#0a2d6b", "#2b3c6d", "#434e6c", "#575c6e", "#696970", "#7c7b78",
  "#8f8978", "#a39a76", "#b9ac70", "#d0be67", "#e7d159", "#fee838",
];
export const CONFIG = { displayModeBar: false, responsive: true, displaylogo: false };
const NO_DATA_EDGE = 0.045;
const SCALE_START = 0.0909;

export function token(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--sl-${name}`).trim();
}

/** A token's colour with an opacity of 0..1, as #rrggbbaa. */
export function faded(name, opacity) {
  return token(name) + Math.round(opacity * 255).toString(16).padStart(2, "0");
}

/** Colour scale for values of -10..100: below 0 is "no data", with a hard edge; the last stop must be exactly 1. */
export function sequential() {
  const unknown = token("unknown");
  const last = CIVIDIS.length - 1;
  const stops = CIVIDIS.map((colour, i) => [i === last ? 1 : SCALE_START + ((1 - SCALE_START) * i) / last, colour]);
  return [[0, unknown], [NO_DATA_EDGE, unknown], [NO_DATA_EDGE, CIVIDIS[0]], ...stops];
}

/** Hard-edged scale for codes 0..n-1, drawn with zmin -0.5 and zmax n-0.5. */
export function categorical(colours) {
  return colours.flatMap((colour, i) => [[i / colours.length, colour], [(i + 1) / colours.length, colour]]);
}

export function axis(more = {}) {
  return {
    gridcolor: token("grid"),
    linecolor: token("border-strong"),
    zeroline: false,
    ticks: "",
    fixedrange: true,
    nticks: 6,
    tickfont: { size: 11, color: token("muted") },
    ...more,
  };
}

export function layout(more = {}) {
  return {
    font: { family: '"Inter Variable", Inter, system-ui, sans-serif', size: 11, color: token("muted") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 44, r: 10, t: 8, b: 26 },
    showlegend: false,
    hoverlabel: { bgcolor: token("raised"), bordercolor: token("border-strong"), font: { size: 11.5, color: token("text") } },
    ...more,
  };
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** A name from outside with its unseen characters spelt out, as the server's pages do. */
export function visible(text) {
  return text.replace(HIDDEN, (c) => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}

/** The same for Plotly, which reads a little markup: none of it may come from a name. */
export function plain(text) {
  return visible(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** After the first frame: most of a page's script is Plotly, and text must not wait for it. */
const firstFrame = new Promise((done) => {
  if (document.hidden) done();
  else requestAnimationFrame(() => setTimeout(done));
});
let fetched = null;

/** Between two pieces of work the browser may answer people. */
export function breathe() {
  return window.scheduler?.yield ? window.scheduler.yield() : new Promise((done) => setTimeout(done));
}

function fetchPlotly() {
  return new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = document.querySelector("meta[name=sl-plotly]").content;
    script.addEventListener("load", done);
    script.addEventListener("error", () => {
      script.remove();
      fetched = null; // so that the next drawing tries again
      fail(new Error("the drawing library did not come"));
    });
    document.head.append(script);
  });
}

/** Resolves once Plotly is there. */
export async function plotly() {
  if (window.Plotly) return;
  await firstFrame;
  fetched ||= fetchPlotly();
  await fetched;
}

async function paint(element, figure) {
  await plotly();
  const { data, layout: shape, config } = figure();
  await window.Plotly.react(element, data, shape, { ...CONFIG, ...config });
}

/**
 * Draws `figure()` ({data, layout, config?}) into the element, now and whenever the theme changes.
 * Call it again with the same element to draw anew; resolves when it is drawn.
 */
export function draw(element, figure) {
  drawn.set(element, figure);
  return paint(element, figure);
}

document.addEventListener("sl:theme", () => {
  for (const [element, figure] of drawn) {
    if (element.isConnected) paint(element, figure);
    else drawn.delete(element);
  }
});
