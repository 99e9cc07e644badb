/** Styles of the console's pages. Tables become cards in a narrow window. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --text: #1b1f24; --soft: #57606a; --line: #8c959f; --faint: #d8dee4;
  --accent: #0550ae; --on-accent: #ffffff; --good: #116329; --good-ground: #dafbe1; --bad: #a40e26; --bad-ground: #ffebe9;
  --warn: #7a4d00; --warn-ground: #fff3d0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1117; --card: #161b22; --text: #e6edf3; --soft: #9da7b1; --line: #6e7681; --faint: #30363d;
    --accent: #79c0ff; --on-accent: #0d1117; --good: #7ee787; --good-ground: #12261e; --bad: #ffa198; --bad-ground: #301318;
    --warn: #f2cc60; --warn-ground: #2b2111;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
code, pre, time, .mono { font-family: ui-monospace, monospace; font-size: 0.92em; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -999em; }
.skip:focus { left: 0.5em; top: 0.5em; padding: 0.5em 1em; background: var(--card); }
header, nav, main, .notice { max-width: 90em; margin: 0 auto; padding: 0.5em 1em; }
header, nav ul, .row, form.row { display: flex; flex-wrap: wrap; gap: 0.5em 1em; align-items: center; }
header p { margin: 0; }
h1 { font-size: 1.4em; margin: 0; }
h2 { font-size: 1.15em; margin: 0 0 0.6em; }
h3 { font-size: 1em; margin: 1em 0 0.3em; }
nav ul { list-style: none; margin: 0; padding: 0; gap: 0.2em 0.4em; border-bottom: 1px solid var(--faint); }
nav a { display: block; padding: 0.4em 0.8em; text-decoration: none; border-bottom: 3px solid transparent; }
nav a[aria-current] { border-color: var(--accent); color: var(--text); font-weight: 600; }
.notice p { margin: 0; padding: 0.5em 1em; border-radius: 6px; background: var(--good-ground); color: var(--good); border: 1px solid currentColor; }
.notice.bad p { background: var(--bad-ground); color: var(--bad); }
.notice.warn p { background: var(--warn-ground); color: var(--warn); }
.notice a { color: inherit; }
section { margin: 0 0 1em; padding: 0.9em 1em; background: var(--card); border: 1px solid var(--faint); border-radius: 8px; }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: 0.88em; }
th, td { padding: 0.4em 0.6em 0.4em 0; border-bottom: 1px solid var(--faint); vertical-align: top; }
th, time { white-space: nowrap; overflow-wrap: normal; }
td form.row { flex-wrap: nowrap; gap: 0.4em; }
.chip { display: inline-block; padding: 0 0.55em; border: 1px solid currentColor; border-radius: 1em; color: var(--soft); font-size: 0.85em; line-height: 1.5; }
.chip.good { color: var(--good); background: var(--good-ground); }
.chip.bad { color: var(--bad); background: var(--bad-ground); }
.chip.warn { color: var(--warn); background: var(--warn-ground); }
.soft { color: var(--soft); }
.chip, button { white-space: nowrap; flex: none; }
.sentence { display: inline-block; }
.sentence::first-letter { text-transform: uppercase; }
pre { margin: 0; padding: 0.7em; border: 1px solid var(--faint); border-radius: 6px; background: var(--ground); white-space: pre-wrap; }
dl { display: grid; grid-template-columns: minmax(8em, max-content) 1fr; gap: 0.2em 1em; margin: 0.4em 0; }
dt { color: var(--soft); }
dd { margin: 0; }
fieldset { display: flex; flex-wrap: wrap; gap: 0.6em 1em; margin: 0 0 0.8em; padding: 0.6em 0.8em; border: 1px solid var(--faint); border-radius: 6px; min-width: 0; }
form { min-width: 0; max-width: 100%; }
label { display: inline-flex; min-width: 0; flex-wrap: wrap; gap: 0.4em; align-items: center; max-width: 100%; }
input, select, button { max-width: 100%; min-height: 2.2em; padding: 0.2em 0.6em; border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: inherit; font: inherit; }
input[type="checkbox"] { min-height: 0; }
input[type="number"] { width: 6em; }
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
ol.steps { display: flex; flex-wrap: wrap; gap: 0.3em 2em; margin: 0 0 0.8em; padding: 0 0 0 1.2em; color: var(--soft); }
ol.steps [aria-current] { color: var(--text); font-weight: 600; }
@media (max-width: 56em) {
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { padding: 0.5em 0; border-bottom: 1px solid var(--faint); }
  td form.row { flex-wrap: wrap; }
  td { display: grid; grid-template-columns: 8em minmax(0, 1fr); gap: 0.5em; padding: 0.1em 0; border: 0; }
  td::before { content: attr(data-label); color: var(--soft); font-size: 0.88em; }
  dl { grid-template-columns: minmax(0, 1fr); }
  dd { margin: 0 0 0.4em; }
}
`;

/** Refreshes what is marked, and copies texts. Everything else works without it. */
export const script = `
setInterval(async () => {
  const live = document.querySelector("[data-live]");
  if (live === null || document.hidden || live.contains(document.activeElement)) return;
  const response = await fetch(location.href).catch(() => undefined);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelector("[data-live]");
  if (fresh !== null && fresh.innerHTML !== live.innerHTML) live.replaceWith(fresh);
}, 1000);
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    button.textContent = "Copied";
  });
}
`;
