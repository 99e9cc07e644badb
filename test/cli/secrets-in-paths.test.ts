import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { readSettings } from "../../src/settings/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { openClosedPort } from "../wire/closed-port.js";
import { run } from "./run.js";

const { privateKey } = signingKeysOf("gateway");
const lines = privateKey.trim().split("\n");
const password = `p${randomUUID()}`;
const base64 = Buffer.from(privateKey).toString("base64");

/** What somebody sets in the place of a file, and what may not be seen of it. */
const contents: [what: string, content: string, secret: string][] = [
  ["a key", privateKey, lines[1] ?? ""],
  ["a key on one line", lines.join("\\n"), lines[1] ?? ""],
  ["a key without its frame", lines.slice(1, -1).join(""), lines[1] ?? ""],
  ["a key in Base64", base64, base64.slice(20, 60)],
  ["the beginning of a key in Base64", base64.slice(0, 200), base64.slice(20, 60)],
  ["settings", JSON.stringify({ username: "alpha", password, clientSecret: password }), password],
  ["an address in quotes, as `docker run --env-file` keeps them", `"postgres://bank:${password}@db/bank"`, password],
  ["an address after a space", ` postgres://bank:#${password}@db/bank`, password],
  ["an address of Java's", `jdbc:postgresql://db/bank?user=bank&password=${password}`, password],
  ["words", `host=db user=bank password=${password}`, password],
];

const closed = await openClosedPort();
const origin = `http://127.0.0.1:${closed.port}`;
afterAll(() => closed.close());
const settings = {
  CROSS_BORDER_BASE_URL: origin,
  CROSS_BORDER_AUTH_URL: origin,
  CROSS_BORDER_REALM: "payments",
  CROSS_BORDER_CLIENT_ID: "gateway",
  CROSS_BORDER_USERNAME: "alpha",
  CROSS_BORDER_PASSWORD: "unused",
  CROSS_BORDER_GATEWAY_ID: "alpha-bank",
};

describe.each(["SIGNING_KEY", "CA", "CERT", "KEY", "CONFIG", "JOURNAL"])("of %s in the place of its file", (name) => {
  it.each(contents)("nothing is shown: %s", async (_, content, secret) => {
    const env = { ...settings, [`CROSS_BORDER_${name}`]: content };
    const program = name === "JOURNAL" ? ["flows", "list"] : ["doctor"];
    for (const line of [program, [...program, "--json"]]) {
      const { code, stdout, stderr } = await run(line, { env });
      expect(code).not.toBe(0);
      expect(stdout + stderr).not.toContain(secret);
    }
    if (name === "JOURNAL") return;
    const error = await readSettings({ env }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid_config", message: expect.stringMatching(/ENOENT|ENAMETOOLONG/) });
    expect(
      Object.values(Object.getOwnPropertyDescriptors(error))
        .map(({ value }) => String(value?.stack ?? value))
        .join(),
    ).not.toContain(secret);
  });
});
