import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readSettings as readForCli, withPassphrase } from "../../src/cli/settings.js";
import type { Terminal } from "../../src/cli/terminal.js";
import { readSettings } from "../../src/settings/index.js";
import { settingNames, variableOf } from "../../src/settings/settings.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const home = temporaryFolder();
mkdirSync(join(home, ".config/cross-border"), { recursive: true });
const stored = {
  ...{ baseUrl: "https://service.test", authUrl: "https://id.test", realm: "r", clientId: "c" },
  ...{ username: "u", password: "p", gatewayId: "g", people: "2", journal: "journal.db" },
};
writeFileSync(join(home, ".config/cross-border/default.json"), JSON.stringify(stored), { mode: 0o600 });

const variables = [...settingNames.map(variableOf), "CROSS_BORDER_CONFIG", "CROSS_BORDER_PROFILE"];

it.each(variables)("an empty %s is unset, for programs and for the command", async (variable) => {
  const [without, env] = [{ HOME: home }, { HOME: home, [variable]: "" }];
  expect(await readSettings({ env })).toEqual(await readSettings({ env: without }));
  expect(await readForCli({}, { env } as Partial<Terminal> as Terminal, [])).toEqual(stored);
});

it("an empty passphrase is unset", async () => {
  const terminal = { env: { CROSS_BORDER_KEY_PASSPHRASE: "" } } as Partial<Terminal> as Terminal;
  await expect(withPassphrase("-----BEGIN ENCRYPTED PRIVATE KEY-----", "key.pem", terminal)).rejects.toThrow(
    "The key in key.pem is encrypted",
  );
});

it("an empty path in the file is unset", async () => {
  const config = join(home, "empty-paths.json");
  const paths = { signingKey: "", ca: "", cert: "", key: "" };
  writeFileSync(config, JSON.stringify({ ...stored, ...paths }));
  expect(await readSettings({ config, env: {} })).toEqual(await readSettings({ env: { HOME: home } }));
});

it("an empty key file isn't unset, so that the client refuses it", async () => {
  const config = join(home, "empty-key.json");
  writeFileSync(join(home, "key.pem"), "");
  writeFileSync(config, JSON.stringify({ ...stored, signingKey: "key.pem" }));
  expect(await readSettings({ config, env: {} })).toMatchObject({ signingKey: "" });
});
