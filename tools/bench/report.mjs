import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { client, contenders, releaseBefore, yardstick } from "./contenders.mjs";
import { versionOf } from "./packages.mjs";

/** The whole of a run as one page. */
export function toMarkdown(run) {
  return [
    "# What the client costs",
    `CPU time of the measured process for each call or record, as a ratio to bare \`${yardstick}\` and \`JSON.parse\` in the same round (its own CPU time stands in its column): median of ${run.options.processes * run.options.rounds} interleaved rounds (least–most), ${run.options.processes === 1 ? "all in one process" : `${run.options.rounds} in each of ${run.options.processes} processes`} a contender. The server is another process.${run.options.isQuick ? " **A quick run: rounds are short and few, so expect the ratios to move by a fifth.**" : ""}`,
    machine(run),
    ...(run.results.length === 0 ? [] : ["## CPU per call and per record", comparison(run.results)]),
    ...(run.goals.length === 0 ? [] : ["## Goals", goalTable(run.goals)]),
    ...(run.failures.size === 0
      ? []
      : ["## Not measured", list([...run.failures].map(([who, why]) => `${who}: ${why}`))]),
    `With ${versions()}`,
    "",
  ].join("\n\n");
}

function machine({ node, canPin, minutes }) {
  const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
  const cores = cpus();
  const apart = canPin ? "client and server on a core each" : "client and server not kept to cores of their own";
  return `${cores[0]?.model.trim() ?? "unknown CPU"}, ${cores.length} cores, ${process.platform} ${process.arch}, Node ${version.slice(1)}, ${apart}. The run took ${minutes.toFixed(1)} minutes.`;
}

function comparison(results) {
  const names = Object.keys(contenders).filter((name) => results.some(({ figures }) => figures.has(name)));
  const lines = results.map(({ row, figures }) => {
    const cells = names.map((name) => {
      if (!figures.has(name)) return "–";
      const { median, least, most } = figures.get(name).ratio;
      if (name === yardstick) return `${figures.get(name).cpuUs.median.toFixed(1)} µs a ${row.unit}`;
      return name === client ? `**${median.toFixed(2)}** (${least.toFixed(2)}–${most.toFixed(2)})` : median.toFixed(2);
    });
    const before = figures.get(releaseBefore)?.ratio.median;
    return [row.title, ...cells, words[before === undefined ? "" : figures.get(client).ratio.median <= before] ?? "–"];
  });
  return table(["", ...names, `≤ ${releaseBefore}`], lines);
}

const words = { true: "met", false: "**not met**" };

function goalTable(goals) {
  return table(
    ["work", "goal", "found", ""],
    goals.map(({ work, goal, found, met }) => [work, goal, found, words[met] ?? "no goal"]),
  );
}

function versions() {
  const names = ["undici", "zod", "openid-client", "stripe", "openai", "@interledger/open-payments"];
  return `${names.map((name) => `${name} ${versionOf(name)}`).join(", ")}.`;
}

function table(head, lines) {
  const toLine = (cells) => `| ${cells.join(" | ")} |`;
  return [toLine(head), toLine(head.map(() => "---")), ...lines.map(toLine)].join("\n");
}

function list(lines) {
  return lines.map((line) => `- ${line}`).join("\n");
}
