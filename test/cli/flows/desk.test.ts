import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { commands } from "../../../src/cli/commands.js";
import { runCommandLine } from "../../../src/cli/run-command.js";
import { journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

describe.each(journalKinds)("the desk of the command, over $kind", ({ kind, isHere }) => {
  it.skipIf(!isHere)("opens to who has its address, decides in one name, and moves no money", async () => {
    await using fixture = await openFlowsFixture(kind, mkdtempSync(join(tmpdir(), "desk-")), { leaseMs: 300 });
    fixture.fate = "lost";
    expect(await fixture.flow.run("k", request)).toMatchObject({ status: "held" });
    let stop = () => {};
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const ended = runCommandLine(commands, [...fixture.line(["flows", "desk", "--user", "olga", "--json"])], {
      ...{ stdin: new PassThrough(), stdout, stderr, env: fixture.env, hasColors: false },
      ...{ showsServiceText: false, showsProgress: false },
      untilStopped: () =>
        new Promise<void>((resolve) => {
          stop = resolve;
        }),
    });
    const { url, user, people } = JSON.parse(String(await new Promise((resolve) => stdout.once("data", resolve))));
    expect([user, people]).toEqual(["olga", 1]);
    const { origin } = new URL(url);
    expect((await fetch(origin)).status).toBe(401);
    expect((await fetch(`${origin}/?key=wrong`)).status).toBe(401);
    const opened = await fetch(url, { redirect: "manual" });
    const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
    // Browsers send it to every port of the host, but to no other path than this.
    const path = opened.headers.get("location") ?? "";
    expect([opened.status, path, opened.headers.get("set-cookie")]).toEqual([
      303,
      expect.stringMatching(/^\/[\w-]{32}\/$/),
      expect.stringContaining(`; HttpOnly; SameSite=Strict; Path=${path}`),
    ]);
    const page = await (await fetch(`${origin}${path}?flow=k`, { headers: { cookie } })).text();
    const [, token = ""] = /name="token" value="([^"]+)"/.exec(page) ?? [];
    const [, seen = ""] = /name="seen" value="([^"]+)"/.exec(page) ?? [];
    const post = (form: Record<string, string>) =>
      fetch(`${origin}${path}?flow=k`, {
        ...{ method: "POST", redirect: "manual" },
        headers: { cookie, origin },
        body: new URLSearchParams({ token, seen, ...form }),
      });
    expect(await (await post({ do: "show" })).text()).toContain(request.senderAccount);
    expect(String(stderr.read())).toMatch(/olga saw names and account numbers of "k"/);
    expect((await post({ do: "resolve", action: "release", why: "ticket 4711" })).status).toBe(303);
    expect(await fixture.flow.status("k")).toMatchObject({ phase: "refused" });
    expect(fixture.bank.released).toEqual([]);
    stop();
    expect(await ended).toBe(0);
    await expect(fetch(origin)).rejects.toThrow();
  });
});
