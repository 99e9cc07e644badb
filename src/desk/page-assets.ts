import { raw } from "hono/html";

/** The style of every page, light and dark. */
export const pageStyle =
  raw(`:root{color-scheme:light dark;--ground:#f4f6f8;--card:#fff;--text:#1a2027;--soft:#55606b;--line:#87919b;--faint:#d9dfe5;--accent:#0b57a4;--on:#fff;--bad:#a40e26;--badbg:#fdecee;--warn:#7a4b00;--warnbg:#fdf1d8;--good:#0f6130;--goodbg:#e2f5e8;--infobg:#e4eefb}
@media(prefers-color-scheme:dark){:root{--ground:#0e1319;--card:#171d25;--text:#e6ebf1;--soft:#a3adb8;--line:#6d7782;--faint:#2d3540;--accent:#84bdff;--on:#0e1319;--bad:#ffa3a8;--badbg:#3a1a1f;--warn:#f1c062;--warnbg:#352a12;--good:#7fd79b;--goodbg:#13301e;--infobg:#15283f}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header,main{max-width:76rem;margin:0 auto;padding:.75rem 1rem}header{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.25rem 1rem;border-bottom:1px solid var(--faint)}
main{padding-bottom:3rem}main:focus{outline:none}a{color:var(--accent)}.brand{font-weight:600;text-decoration:none;color:inherit}h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0 1rem}h2{font-size:1.1rem;margin:0 0 .5rem}p{margin:.5rem 0}
a:focus-visible,button:focus-visible,input:focus-visible,select:focus-visible,textarea:focus-visible,summary:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-999em}.skip:focus{left:.5rem;top:.5rem;padding:.5rem 1rem;background:var(--card)}.soft,dt{color:var(--soft);font-size:.875rem}
section,.empty,details{padding:1rem;margin:0 0 1rem;background:var(--card);border:1px solid var(--faint);border-radius:10px}form details{background:none;padding:.5rem .75rem}summary{cursor:pointer;font-weight:600}details[open]>summary{margin-bottom:.5rem}
.reason{font-size:1.15rem;padding-left:.9rem;border-left:4px solid var(--accent);margin:0 0 1rem}.note{padding:.6rem .9rem;margin:0 0 1rem;border-radius:8px;background:var(--infobg)}.note.bad{background:var(--badbg);color:var(--bad)}.note.good{background:var(--goodbg);color:var(--good)}.warn{color:var(--warn)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(16rem,100%),1fr));gap:.6rem 1.5rem;margin:0}dd{margin:0}.tiles{margin:0 0 1rem;gap:1rem;grid-template-columns:1fr 3fr}.tiles div{padding:.75rem 1rem;background:var(--card);border:1px solid var(--faint);border-radius:10px}.tiles dd{font-size:1.3rem;font-weight:600}
.chip{display:inline-block;padding:.1rem .6rem;border-radius:999px;font-size:.875rem;font-weight:500;white-space:nowrap;vertical-align:middle;background:var(--infobg)}.chip.held,.chip.decision{background:var(--warnbg);color:var(--warn)}.chip.paid{background:var(--goodbg);color:var(--good)}.chip.rejected,.chip.refused{background:var(--badbg);color:var(--bad)}
table{width:100%;border-collapse:collapse;background:var(--card);border:1px solid var(--faint);margin-bottom:1rem}th,td{text-align:left;vertical-align:top;padding:.6rem .75rem;border-bottom:1px solid var(--faint)}th{font-size:.875rem;color:var(--soft);font-weight:500}td.amount{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}th:nth-child(2){text-align:right}td.age{white-space:nowrap}td:first-child{min-width:10rem}
.filters{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end;margin-bottom:1rem}label{display:block;font-size:.875rem;color:var(--soft)}label.check{display:flex;gap:.5rem;align-items:start;color:inherit;font-size:1rem}label.check input{margin-top:.35rem}
input:not([type=checkbox]),select,textarea,button{display:block;width:100%;min-height:2.5rem;padding:.4rem .75rem;border:1px solid var(--line);border-radius:8px;background:var(--card);color:var(--text);font:inherit}.filters button{width:auto}.filters label{flex:1 1 11rem}[hidden]{display:none!important}
button{cursor:pointer;width:auto;margin:.75rem 0 0;background:var(--accent);border-color:var(--accent);color:var(--on);font-weight:600}.filters button{margin:0}button.plain{background:var(--card);color:var(--text);border-color:var(--line);font-weight:500}button.release{background:var(--bad);border-color:var(--bad);color:var(--on)}button.resend{background:var(--warn);border-color:var(--warn);color:var(--on)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(15rem,100%),1fr));gap:.75rem;margin-top:.75rem}button.card{width:100%;margin:0;padding:.9rem 1rem;text-align:left;background:var(--card);color:var(--text);font-weight:400;border-width:1px 1px 1px 5px;display:flex;flex-direction:column;justify-content:start;gap:.25rem}button.card:hover{background:var(--infobg)}button.card.release b{color:var(--bad)}button.card.resend b{color:var(--warn)}button.card.found b{color:var(--accent)}
pre{font:.875rem/1.5 ui-monospace,monospace;white-space:pre-wrap;margin:.5rem 0;padding:.6rem .75rem;background:var(--ground);border-radius:8px}
.timeline{list-style:none;margin:0;padding:0}.timeline li{position:relative;padding:0 0 .8rem 1.4rem;border-left:2px solid var(--faint);margin-left:.4rem}.timeline li::before{content:"";position:absolute;left:-.45rem;top:.45rem;width:.75rem;height:.75rem;border-radius:50%;background:var(--accent)}.timeline li:last-child{border-color:transparent;padding-bottom:0}
@media(max-width:40rem){.tiles{grid-template-columns:1fr 2fr}thead{position:absolute;left:-999em}table,tbody,tr,td{display:block;border:0;background:none}tr{padding:.6rem .9rem;margin-bottom:.75rem;background:var(--card);border:1px solid var(--faint);border-radius:10px}td{display:grid;grid-template-columns:5.5rem 1fr;padding:.2rem 0}td.amount{text-align:left}td::before{content:attr(data-label);color:var(--soft);font-size:.875rem}td .soft{grid-column:2}td .chip{justify-self:start}.filters button{width:100%}}`);

/** Shows times in the reader's zone, and copies. The pages work without it. */
export const pageScript = `for (const time of document.querySelectorAll("time")) {
  time.title = time.dateTime;
  time.textContent = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = navigator.clipboard === undefined;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}
`;
