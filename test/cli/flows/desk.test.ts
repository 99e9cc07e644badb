import type { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { deferred } from "../../support/deferred.js";
import { terminalOf } from "../run.js";
import { type FlowsFixture, journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

/** Serves the desk of one person, and opens it as a browser does. */
async function openDesk(fixture: FlowsFixture, user: string, env: object = {}) {
  const { promise: stopped, resolve: stop } = deferred();
  const terminal = terminalOf({ env: { ...fixture.env, ...env }, stopped });
  const ended = runCommandLine(fixture.line(["desk", "--user", user, "--json"]), terminal);
  const printed = JSON.parse(String(await new Promise((resolve) => terminal.stdout.once("data", resolve))));
  const { origin } = new URL(printed.url);
  const opened = await fetch(printed.url, { redirect: "manual" });
  const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
  const path = opened.headers.get("location") ?? "";
  /** Fills in the newest page. */
  const post = async (form: Readonly<Record<string, string>>) => {
    const page = `${origin}${path}?flow=k`;
    const text = await (await fetch(page, { headers: { cookie } })).text();
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";
    const body = new URLSearchParams({ token: field("token"), revision: field("revision"), ...form });
    return fetch(page, { method: "POST", redirect: "manual", headers: { cookie, origin }, body });
  };
  const close = () => {
    stop();
    return ended;
  };
  return { printed, origin, opened, path, post, stderr: terminal.stderr as PassThrough, close };
}

const kind = journalKinds.find(({ isHere }) => isHere)?.kind ?? "none";
const test = it.skipIf(kind === "none");

test("a desk opens with its address, decides in one name, and moves no money", async () => {
  await using fixture = await openFlowsFixture(kind);
  await fixture.hold("k");
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

test("two people have a desk each: one proposes, and the other refuses or approves", async () => {
  await using fixture = await openFlowsFixture(kind);
  await fixture.hold("k");
  const two = { CROSS_BORDER_PEOPLE: "2" };
  const [olga, petra] = [await openDesk(fixture, "olga", two), await openDesk(fixture, "petra", two)];
  const proposal = { do: "propose", action: "release", why: "ticket 4711" };
  expect((await olga.post(proposal)).status).toBe(303);
  expect((await olga.post({ do: "approve" })).status).toBe(409);
  expect((await petra.post({ do: "refuse" })).status).toBe(303);
  expect((await olga.post(proposal)).status).toBe(303);
  expect((await petra.post({ do: "approve" })).status).toBe(303);
  const { history = [] } = (await fixture.flow.details("k")) ?? {};
  expect(history.slice(-4).map(({ phase, by }) => `${phase} by ${by}`)).toEqual([
    ...["held by olga", "held by petra", "held by olga", "refused by petra"],
  ]);
  expect([await olga.close(), await petra.close()]).toEqual([0, 0]);
});
