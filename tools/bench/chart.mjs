import { client, contenders, yardstick } from "./contenders.mjs";

/** Shown side by side in docs/benchmarks.md. */
const shown = ["get-64", "create-64", "page-100"];

const panelWidth = 300;
const nameWidth = 172;
const barHeight = 16;
const gap = 7;
const top = 56;

/** The comparison as a picture: one panel of bars for each row, the shorter the better. Readable on light and on dark. */
export function toChart(results) {
  const panels = results.filter(({ row }) => shown.includes(row.id));
  const names = Object.keys(contenders).filter((name) => panels.some(({ figures }) => figures.has(name)));
  const height = top + names.length * (barHeight + gap) + 24;
  const width = nameWidth + panels.length * panelWidth;
  const y = (index) => top + index * (barHeight + gap);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="CPU time of each client as a multiple of bare ${yardstick}: shorter is better">`,
    `<style>${style}</style>`,
    ...names.map((name, index) => text(nameWidth - 10, y(index) + 12, name, name === client ? "name own" : "name")),
    ...panels.flatMap((panel, index) => bars(panel, names, nameWidth + index * panelWidth, y)),
    text(nameWidth, height - 6, `CPU time as a multiple of bare ${yardstick} + JSON.parse; shorter is better`, "note"),
    "</svg>",
  ].join("\n")}\n`;
}

function bars({ row, figures }, names, x, y) {
  const most = Math.max(...[...figures.values()].map(({ ratio }) => ratio.median));
  const room = panelWidth - 70;
  const one = x + room / most;
  return [
    text(x, 26, row.title, "title"),
    `<line class="one" x1="${one.toFixed(1)}" x2="${one.toFixed(1)}" y1="${top - 10}" y2="${y(names.length)}"/>`,
    ...names.flatMap((name, index) => {
      const ratio = figures.get(name)?.ratio.median;
      if (ratio === undefined) return [];
      const length = (ratio / most) * room;
      const own = name === client ? " own" : "";
      return [
        `<rect class="bar${own}" x="${x}" y="${y(index)}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>`,
        text(x + length + 6, y(index) + 12, ratio.toFixed(2), `value${own}`),
      ];
    }),
  ];
}

function text(x, y, content, className) {
  return `<text class="${className}" x="${x.toFixed(1)}" y="${y.toFixed(1)}">${content}</text>`;
}

// Greys and a blue with contrast on white and on GitHub's dark background alike; no background of its own.
const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #57606a; }
.name { text-anchor: end; }
.title { font-weight: 600; font-size: 13px; }
.note { font-size: 11px; }
.own { font-weight: 700; }
text.own { fill: #0969da; }
.bar { fill: #8c959f; }
.bar.own { fill: #0969da; }
.one { stroke: #8c959f; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; }
  text.own { fill: #58a6ff; }
  .bar { fill: #656c76; }
  .bar.own { fill: #58a6ff; }
}
`;
