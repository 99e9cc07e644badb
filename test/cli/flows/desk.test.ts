import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

type Fixture = Awaited<ReturnType<typeof openFlowsFixture>>;

/** Serves the desk of one person, and opens it as a browser does. */
async function openDesk(fixture: Fixture, user: string, env: Readonly<Record<string, string>> = {}) {
  let stop = () => {};
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const ended = runCommandLine([...fixture.line(["flows", "desk", "--user", user, "--json"])], {
    ...{ stdin: new PassThrough(), stdout, stderr, env: { ...fixture.env, ...env }, hasColors: false },
    ...{ showsServiceText: false },
    untilStopped: () =>
      new Promise<void>((resolve) => {
        stop = resolve;
      }),
  });
  const printed = JSON.parse(String(await new Promise((resolve) => stdout.once("data", resolve))));
  const { origin } = new URL(printed.url);
  const opened = await fetch(printed.url, { redirect: "manual" });
  const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
  const path = opened.headers.get("location") ?? "";
  const page = async (query = "?flow=k") => (await fetch(`${origin}${path}${query}`, { headers: { cookie } })).text();
  /** Fills in the newest page. */
  const post = async (form: Readonly<Record<string, string>>) => {
    const text = await page();
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";
    const [token, revision] = [field("token"), field("revision")];
    return fetch(`${origin}${path}?flow=k`, {
      ...{ method: "POST", redirect: "manual" },
      headers: { cookie, origin },
      body: new URLSearchParams({ token, revision, ...form }),
    });
  };
  const close = () => {
    stop();
    return ended;
  };
  return { printed, origin, opened, path, page, post, stderr, close };
}

describe.each(journalKinds)("the desk of the command, over $kind", ({ kind, isHere }) => {
  const open = (decisions?: { readonly people: 2 }) =>
    openFlowsFixture(kind, mkdtempSync(join(tmpdir(), "desk-")), decisions && { decisions });

  it.skipIf(!isHere)("opens with its address, decides in one name, and moves no money", async () => {
    await using fixture = await open();
    fixture.fate = "lost";
    expect(await fixture.flow.run("k", request)).toMatchObject({ status: "held" });
    const { printed, origin, opened, path, post, stderr, close } = await openDesk(fixture, "olga");
    expect(printed).toMatchObject({ user: "olga", people: 1 });
    expect((await fetch(origin)).status).toBe(401);
    expect((await fetch(`${origin}/?key=wrong`)).status).toBe(401);
    // Browsers send it to every port of the host, but to no other path than this.
    expect([opened.status, path, opened.headers.get("set-cookie")]).toEqual([
      303,
      expect.stringMatching(/^\/[\w-]{32}\/$/),
      expect.stringContaining(`; HttpOnly; SameSite=Strict; Path=${path}`),
    ]);
    expect(await (await post({ do: "show" })).text()).toContain(request.senderAccount);
    expect(String(stderr.read())).toMatch(/olga saw names and account numbers of "k"/);
    expect((await post({ do: "resolve", action: "release", why: "ticket 4711" })).status).toBe(303);
    expect(await fixture.flow.status("k")).toMatchObject({ phase: "refused" });
    expect(fixture.bank.released).toEqual([]);
    expect(await close()).toBe(0);
    await expect(fetch(origin)).rejects.toThrow();
  });

  it.skipIf(!isHere)(
    "takes two people if the settings say so: one proposes, and the other refuses or approves",
    async () => {
      await using fixture = await open({ people: 2 });
      fixture.fate = "lost";
      expect(await fixture.flow.run("k", request)).toMatchObject({ status: "held" });
      const two = { CROSS_BORDER_PEOPLE: "2" };
      const [olga, petra] = [await openDesk(fixture, "olga", two), await openDesk(fixture, "petra", two)];
      expect(await olga.page("")).toContain("flow=k");
      const proposal = { do: "propose", action: "release", why: "ticket 4711" };
      expect((await olga.post(proposal)).status).toBe(303);
      expect((await olga.post({ do: "approve" })).status).toBe(409);
      expect((await petra.post({ do: "refuse" })).status).toBe(303);
      expect((await olga.post(proposal)).status).toBe(303);
      expect((await petra.post({ do: "approve" })).status).toBe(303);
      expect(await fixture.flow.status("k")).toMatchObject({ phase: "refused" });
      const { history = [] } = (await fixture.flow.details("k")) ?? {};
      expect(history.slice(-4).map(({ phase, by }) => `${phase} by ${by}`)).toEqual([
        ...["held by olga", "held by petra", "held by olga", "refused by petra"],
      ]);
      expect(fixture.bank.released).toEqual([]);
      expect([await olga.close(), await petra.close()]).toEqual([0, 0]);
    },
  );
});
