import type { KnownSurvivor } from "../known-survivor.js";

const runLock = "src/cli/lists/run-lock.ts";
const resumableFile = "src/cli/lists/resumable-file.ts";
const follow = "src/cli/lists/follow.ts";
const listCommands = "src/cli/lists/list-commands.ts";
const listOptions = "src/cli/lists/list-options.ts";

export const cliLists: readonly KnownSurvivor[] = [
  ...['"Stryker was here!"', '["Stryker was here"]'].map((replacement) => ({
    file: listOptions,
    line: 'const [, name = "", direction = ""] = /^([^.\\s]+)(?:\\.(\\w+))?$/.exec(term) ?? [];',
    replacement,
    why: "What is neither asc nor desc is refused, whatever it is.",
  })),
  ...['"Stryker was here!"', "page.at(-1).cursor"].map((replacement) => ({
    file: follow,
    line: 'yield { records: records.filter((record) => fits(record, filter)), mark: page.at(-1)?.cursor ?? "" };',
    replacement,
    why: "For the compiler: a page has an event.",
  })),
  {
    file: follow,
    line: "while (page.length < mostInPage) {",
    replacement: "page.length <= mostInPage",
    why: "Only memory: a page may have one event more.",
  },
  {
    file: follow,
    line: "next.catch(() => {});",
    replacement: ";",
    why: "The watch fails in the moment in which its reader stops: no test can time that.",
  },
  {
    file: follow,
    line: "await events.return?.();",
    replacement: "events.return()",
    why: "For the compiler: a watch can be ended.",
  },
  ...["out === undefined && resume === undefined", "false"].map((replacement) => ({
    file: listCommands,
    line: "out === undefined || resume === undefined",
    replacement,
    why: "For the compiler: they go together.",
  })),
  {
    file: listCommands,
    line: 'JSON.stringify({ service: settings.baseUrl, list: source.name, parent: parents.join("/"), ...query }),',
    replacement: '""',
    why: "No list belongs to more than one record.",
  },
  {
    file: listCommands,
    line: 'await write(records, () => page.next ?? "");',
    replacement: '"Stryker was here!"',
    why: "For the compiler: a page that goes into a file has a record, and so a cursor.",
  },
  ...['"Stryker was here!"', "() => undefined"].map((replacement) => ({
    file: listCommands,
    line: 'await write(records, () => "");',
    replacement,
    why: "A period goes into no file that says how far it is good.",
  })),
  {
    file: resumableFile,
    line: "} catch {",
    replacement: "{}",
    why: "A function that ends gives undefined.",
  },
  ...["{}", "false"].map((replacement) => ({
    file: resumableFile,
    line: "const { dev, ino } = await stat(path, { bigint: true });",
    replacement,
    why: "Numbers of files that are rounded are those of very large ones.",
  })),
  {
    file: "src/cli/lists/progress-file.ts",
    line: 'found.isFile() && found.nlink === 1 && begin.startsWith((await readFile(path, "utf8")).slice(0, begin.length));',
    original: '"utf8"',
    replacement: '""',
    why: "Bytes become the same text where they are compared with one.",
  },
  ...[
    ['code !== "ENOENT"', "true"],
    ['code !== "ENOENT"', 'code === "ENOENT"'],
    ['"ENOENT"', '""'],
  ].map(([original = "", replacement = ""]) => ({
    file: runLock,
    line: 'socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED" && code !== "ENOENT"));',
    original,
    replacement,
    why: "The run that had the file ends between two looks: no test can time that.",
  })),
  {
    file: runLock,
    line: 'socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED" && code !== "ENOENT"));',
    original: 'code !== "ECONNREFUSED" && code !== "ENOENT"',
    replacement: "false",
    why: "Another user's socket, which may not be touched; nothing is refused to root, as whom tests may run.",
  },
  ...[
    "false",
    'address.startsWith("\\0") && address.startsWith("\\\\")',
    'address.endsWith("\\0")',
    'address.endsWith("\\\\")',
  ].map((replacement) => ({
    file: runLock,
    line: 'if (address.startsWith("\\0") || address.startsWith("\\\\") || (await isAlive(address))) return undefined;',
    replacement,
    why: "Such a name is taken by a run that is alive, unless that ends between two looks: no test can time that.",
  })),
  ...["{}", "false"].map((replacement) => ({
    file: runLock,
    line: "await rm(address, { force: true });",
    replacement,
    why: "The file is there, unless another run takes it away between two looks: no test can time that.",
  })),
  {
    file: runLock,
    line: "server.unref();",
    replacement: ";",
    why: "A process that has nothing else to do ends; that of a test goes on.",
  },
  {
    file: runLock,
    line: "socket.destroy();",
    replacement: ";",
    why: "The other side ends the connection too.",
  },
  {
    file: "src/cli/lists/sources.ts",
    line: 'const [own = "", parent = ""] = resource.split(".").map(words).reverse();',
    original: '""',
    replacement: '"Stryker was here!"',
    why: "For the compiler: each name has a part.",
  },
];
