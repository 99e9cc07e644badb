import { createServer } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sources } from "../../src/cli/lists/sources.js";
import { operations } from "../../src/resources/catalogue.js";
import { originOf } from "../support/origin-of.js";
import { run } from "./run.js";

const credential = "a-credential-of-the-gateway";
const fields = [...operations.values()].flatMap((row) => Object.entries(row.record));
/** Every field of every record, each credential with the same value. */
const record = Object.fromEntries(fields.map(([name, kind]) => [name, kind === "secret" ? credential : "4711"]));

let sent: (string | undefined)[] = [];
const server = createServer((request, response) => {
  const { pathname: path } = new URL(request.url ?? "/", "http://service.test");
  request.resume();
  response.setHeader("content-type", "application/json");
  if (path.endsWith("/token")) {
    return void response.end(JSON.stringify({ access_token: "t", token_type: "Bearer", expires_in: 300 }));
  }
  if (path.endsWith("/logout")) return void response.writeHead(204).end();
  sent.push(request.method);
  response.end(JSON.stringify(path.endsWith("/4711") ? record : [record]));
});
let env: Record<string, string>;

beforeAll(async () => {
  const origin = await originOf(server);
  env = {
    ...{ CROSS_BORDER_BASE_URL: origin, CROSS_BORDER_AUTH_URL: origin, CROSS_BORDER_REALM: "r" },
    ...{ CROSS_BORDER_CLIENT_ID: "c", CROSS_BORDER_USERNAME: "u", CROSS_BORDER_PASSWORD: "p" },
  };
});
afterAll(() => void server.close());

const lines = [
  ...sources.flatMap(({ name, parents, list, get }) => {
    const owner = parents.flatMap((parent) => [`--${parent}`, "42"]);
    return [
      ...(list === undefined ? [] : [[name, "list", ...owner]]),
      ...(get === undefined ? [] : [[name, "show", "4711", ...owner]]),
    ];
  }),
  ["doctor"],
  ["doctor", "--service", "--wait", "1ms"],
];

it.each(lines.map((line) => [line.join(" "), line] as const))(
  "%s only reads, and shows no credential",
  async (_, line) => {
    const isRecord = line[0] !== "doctor";
    for (const { as = [], ...more } of [{}, ...(isRecord ? [{ width: 400 }, { as: ["--json"] }] : [])]) {
      sent = [];
      const { stdout, stderr } = await run([...line, ...as], { env, ...more });
      expect(new Set(sent), stderr).toContain("GET");
      expect(sent.filter((method) => method !== "GET")).toEqual([]);
      expect(stdout + stderr).not.toContain(credential);
      if (isRecord) expect(stdout, stderr).toContain("4711");
    }
  },
);
