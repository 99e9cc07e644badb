/** For each file, the files it imports and the line of the import. */
export type ImportGraph = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The shortest circle through each file that is in one, with each circle named once: `src/a.ts:1 -> src/b.ts:4 -> src/a.ts`. */
export function findCircles(graph: ImportGraph): string[] {
  const reported = new Set<string>();
  const circles: string[] = [];
  for (const start of graph.keys()) {
    if (reported.has(start)) continue;
    const circle = shortestCircle(graph, start);
    if (circle === undefined) continue;
    for (const file of circle) reported.add(file);
    const steps = circle.map((file, at) => describe(graph, file, circle[at + 1] ?? start));
    circles.push(`${steps.join("")}src/${start}`);
  }
  return circles;
}

function describe(graph: ImportGraph, file: string, next: string): string {
  return `src/${file}:${graph.get(file)?.get(next)} -> `;
}

/** Breadth first, from `start` back to it. */
function shortestCircle(graph: ImportGraph, start: string): string[] | undefined {
  const paths = [[start]];
  const seen = new Set<string>();
  for (const path of paths) {
    for (const next of graph.get(path.at(-1) ?? start)?.keys() ?? []) {
      if (next === start) return path;
      if (seen.has(next)) continue;
      seen.add(next);
      paths.push([...path, next]);
    }
  }
  return undefined;
}
