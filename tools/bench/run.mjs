import { writeFileSync } from "node:fs";
import { readOptions, usage } from "./options.mjs";
import { canPin, startServer } from "./processes.mjs";
import { chooseNode, installPeers, placeClient } from "./setup.mjs";

const options = readOptions(process.argv.slice(2));
if (options.help) process.stdout.write(`${usage}\n`);
else await bench();

async function bench() {
  installPeers();
  const node = chooseNode(options.wantedNode);
  placeClient(node, options.dist);
  // They load packages that have just been installed.
  const { compare } = await import("./rows/comparison.mjs");
  const { otherRows } = await import("./rows/rows.mjs");
  const { toMarkdown } = await import("./report.mjs");
  const { toChart } = await import("./chart.mjs");

  const tell = (title) => process.stderr.write(`${title}\n`);
  const server = await startServer(node);
  const settings = { ...options, node, server, tell };
  const from = performance.now();
  const { results, failures } = await compare(settings);
  const goals = [];
  for (const row of otherRows.filter(options.only)) {
    tell(row.title);
    goals.push(...(await row.measure(settings)));
  }
  server.stop();

  const minutes = (performance.now() - from) / 60_000;
  const markdown = toMarkdown({ results, goals, failures, options, node, canPin, minutes });
  process.stdout.write(markdown);
  if (options.isPartial) return;
  writeFileSync(new URL("RESULTS.md", import.meta.url), markdown);
  writeFileSync(new URL("../../docs/images/benchmarks.svg", import.meta.url), toChart(results));
}
