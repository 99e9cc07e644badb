import { once } from "node:events";
import { request } from "node:http";
import { expect, it } from "vitest";
import { ConfigError } from "../../../src/core/errors.js";
import { whyRefused } from "../../../src/sandbox/console/own-page-only.js";
import { type SandboxServer, startSandbox } from "../../../src/sandbox/index.js";

/** One request as no `fetch` would send it, and the response. */
async function send(server: SandboxServer, path: string, headers: Record<string, string> = {}, method = "GET") {
  const sent = request(server.url + path, { method, headers });
  sent.end(method === "POST" ? "{}" : undefined);
  const [response] = await once(sent, "response");
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

it("serves a page, to nobody but this machine's own addresses", async () => {
  await using server = await startSandbox({ console: true });
  const { port } = new URL(server.url);
  expect(server.consoleUrl).toBe(`${server.url}/console/`);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    expect(await send(server, "/console/", { host }), host).toMatchObject({ status: 200 });
  }
  for (const host of ["attacker.test", `attacker.test:${port}`, "127.0.0.1", `127.0.0.1:${Number(port) + 1}`]) {
    for (const path of ["/console", "/console/", "/console/state"]) {
      const { status, body } = await send(server, path, { host });
      expect(status, `${host} ${path}`).toBe(403);
      expect(JSON.parse(body)).toMatchObject({ error: "refused" });
    }
  }
  // The service itself answers under any name, as it did.
  expect(await send(server, "/payments", { host: "attacker.test" })).toMatchObject({ status: 401 });
});

it("tells no other origin anything, not even in a preflight", async () => {
  await using server = await startSandbox({ console: true });
  const origin = "http://attacker.test";
  const preflight = { origin, "access-control-request-method": "POST" };
  const responses = [
    await send(server, "/console/", { origin }),
    await send(server, "/console/", preflight, "OPTIONS"),
    await send(server, "/console/state", { origin, "sec-fetch-site": "cross-site" }),
  ];
  for (const { headers } of responses) {
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(headers["cross-origin-resource-policy"]).toBe("same-origin");
  }
  expect(responses.map(({ status }) => status)).toEqual([200, 403, 403]);
});

it("is not there unless it is asked for", async () => {
  await using server = await startSandbox();
  expect(server).not.toHaveProperty("consoleUrl");
  expect(await send(server, "/console/")).toMatchObject({ status: 404 });
});

it("is known without a port where it is on port 80", () => {
  const request = { method: "GET", path: "/console/state", body: new Uint8Array(), localAddress: "::1", localPort: 80 };
  const verdicts = ["[::1]", "[::1]:80", "localhost", "localhost:81", "attacker.test"].map((host) => {
    return whyRefused({ ...request, headers: new Headers({ host }) }) === undefined;
  });
  expect(verdicts).toEqual([true, true, true, false, false]);
});

it("takes its page for the same whatever the query", async () => {
  await using server = await startSandbox({ console: true });
  expect(await send(server, "/console/?from=docs")).toMatchObject({ status: 200 });
});

it("leads from its path without a slash to the page", async () => {
  await using server = await startSandbox({ console: true });
  expect(await send(server, "/console")).toMatchObject({ status: 308, headers: { location: "/console/" } });
});

it.each(["0.0.0.0", "::", "192.0.2.7", "127.0.0.1.attacker.test", ""])("does not listen on %j", async (host) => {
  await expect(startSandbox({ console: true, host })).rejects.toThrow(ConfigError);
});

it.each([{ basePath: "/console" }, { authPath: "/console/login" }])("hides no operation: %j", async (paths) => {
  await expect(startSandbox({ console: true, ...paths })).rejects.toThrow(/"\/console"/);
});
