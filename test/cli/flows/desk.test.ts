import { expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { deferred } from "../../support/deferred.js";
import { terminalOf } from "../run.js";
import { journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

const kind = journalKinds.find(({ isHere }) => isHere)?.kind;

it.skipIf(kind === undefined)("a desk opens with its address, decides in one name, and moves no money", async () => {
  await using fixture = await openFlowsFixture(kind ?? "");
  await fixture.hold("k");
  const { promise: stopped, resolve: stop } = deferred();
  const terminal = terminalOf({ env: fixture.env, stopped });
  const ended = runCommandLine(fixture.line(["desk", "--user", "olga", "--json"]), terminal);
  const printed = JSON.parse(String(await new Promise((resolve) => terminal.stdout.once("data", resolve))));
  expect(printed).toMatchObject({ user: "olga", people: 1 });
  const { origin } = new URL(printed.url);
  for (const path of ["", "/?key=wrong"]) expect((await fetch(origin + path)).status).toBe(401);
  const opened = await fetch(printed.url, { redirect: "manual" });
  const path = opened.headers.get("location") ?? "";
  const [cookie = "", rest] = opened.headers.get("set-cookie")?.split(/; (.*)/) ?? [];
  // Browsers send it to every port of the host, but to no other path than this.
  expect([opened.status, path, rest]).toEqual([
    303,
    expect.stringMatching(/^\/[\w-]{32}\/$/),
    `HttpOnly; SameSite=Strict; Path=${path}`,
  ]);
  const page = `${origin}${path}?flow=k`;
  /** Fills in the newest page. */
  const post = async (form: Readonly<Record<string, string>>) => {
    const text = await (await fetch(page, { headers: { cookie } })).text();
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";
    const body = new URLSearchParams({ token: field("token"), revision: field("revision"), ...form });
    return fetch(page, { method: "POST", redirect: "manual", headers: { cookie, origin }, body });
  };
  expect(await (await post({ do: "show" })).text()).toContain(request.senderAccount);
  expect(String(terminal.stderr.read())).toMatch(/olga saw names and account numbers of "k"/);
  expect((await post({ do: "resolve", action: "release", why: "ticket 4711" })).status).toBe(303);
  expect([await fixture.flow.status("k"), fixture.bank.released]).toMatchObject([{ phase: "refused" }, []]);
  stop();
  expect(await ended).toBe(0);
  await expect(fetch(origin)).rejects.toThrow();
});
