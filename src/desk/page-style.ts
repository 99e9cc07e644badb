/** The style of every page, light and dark. It is part of the page: nothing else is loaded. */
export const pageStyle = `:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--text:#1b1f24;--soft:#57606a;--line:#8c959f;--faint:#d8dee4;--accent:#0550ae;--on:#fff;--bad:#a40e26}
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--card:#161b22;--text:#e6edf3;--soft:#9da7b1;--line:#6e7681;--faint:#30363d;--accent:#79c0ff;--on:#0d1117;--bad:#ffa198}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--text);font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
header,main{max-width:60em;margin:0 auto;padding:.5em 1em}h1{font-size:1.4em;margin:.2em 0}h2{font-size:1.1em;margin:0 0 .5em}a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}.skip{position:absolute;left:-999em}.skip:focus{left:.5em;top:.5em;padding:.5em 1em;background:var(--card)}
section,li.flow{padding:.8em 1em;margin:0 0 1em;background:var(--card);border:1px solid var(--faint);border-radius:8px}ul.flows{list-style:none;margin:0;padding:0}
dl{display:flex;flex-wrap:wrap;gap:.2em 1.4em;margin:.3em 0}dt,.soft{color:var(--soft);font-size:.9em}dd{margin:0}code,pre{font:.92em ui-monospace,monospace}pre{white-space:pre-wrap;margin:.3em 0}
fieldset{margin:.6em 0;padding:.5em .8em;border:1px solid var(--faint);border-radius:6px;min-width:0}label{display:block;margin:.4em 0}
input[type=text],textarea,button{width:100%;max-width:40em;min-height:2.3em;padding:.3em .6em;border:1px solid var(--line);border-radius:6px;background:var(--card);color:inherit;font:inherit}
button{width:auto;cursor:pointer;background:var(--accent);border-color:var(--accent);color:var(--on)}button.plain{background:var(--card);color:inherit;border-color:var(--line)}.bad{color:var(--bad)}`;
