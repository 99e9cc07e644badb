import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { recordsIn } from "../run.js";
import { type FlowsFixture, journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

const folder = temporaryFolder();

const newUrl = "https://new.example/v1";

describe.each(journalKinds)("flows in a journal of $kind", ({ kind, isHere }) => {
  let fixture: FlowsFixture;
  let oldUrl: string;
  beforeEach(async () => {
    if (!isHere) return;
    fixture = await openFlowsFixture(kind, folder);
    await fixture.flow.run("paid", request);
    fixture.fate = "lost";
    await fixture.flow.run("held", request);
    oldUrl = (await fixture.journal.scopes())[0]?.service ?? "";
  });
  afterEach(async () => {
    if (isHere) await fixture[Symbol.asyncDispose]();
  });

  it.skipIf(!isHere)("are counted by address, and moved with --yes alone", async () => {
    const own = { service: oldUrl, gateway: "alpha-bank", open: 0, held: 1, paid: 1, flows: 2 };
    expect(recordsIn((await fixture.run(["flows", "scopes"])).stdout)).toEqual([{ ...own, isOwn: true }]);
    expect((await fixture.run(["flows", "scopes"], { width: 200 })).stdout).toMatch(
      /^service +gateway +open +held +paid +flows[^\n]*\n\S+ +alpha-bank +0 +1 +1 +2 +here/,
    );

    const line = ["flows", "move", "--from", oldUrl, "--to", newUrl];
    const before = await fixture.rows();
    const planned = await fixture.run(line);
    expect(planned).toMatchObject({ code: 0, stderr: "" });
    expect(planned.stdout).toContain(`There are 2 flows of ${oldUrl}, 0 of them open and 1 held.`);
    expect(planned.stdout).toContain(`With --yes they are moved to ${newUrl}.`);
    expect(JSON.parse((await fixture.run([...line, "--json"])).stdout)).toEqual({
      ...{ isDone: false, from: oldUrl, to: newUrl, open: 0, held: 1, flows: 2 },
    });
    expect(await fixture.rows()).toEqual(before);

    const moved = await fixture.run([...line, "--yes"]);
    expect(moved).toMatchObject({ code: 0, stderr: "", stdout: `Moved: 2 flows, from ${oldUrl} to ${newUrl}.\n` });
    const { stdout } = await fixture.run(["flows", "scopes", "--base-url", newUrl]);
    expect(recordsIn(stdout)).toEqual([{ ...own, service: newUrl, isOwn: true }]);
    const shown = await fixture.run(["flows", "show", "held", "--base-url", newUrl, "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({ key: "held", phase: "held" });
  });

  it.skipIf(!isHere)("wait for an operator under another address too", async () => {
    const elsewhere = { status: "elsewhere", service: oldUrl, gateway: "alpha-bank", open: 0, held: 1 };
    const list = ["flows", "list", "--base-url", newUrl];
    expect(recordsIn((await fixture.run([...list, "--held"])).stdout)).toEqual([elsewhere]);
    const table = (await fixture.run([...list, "--held"], { width: 400 })).stdout;
    expect(table).toMatch(/elsewhere .*0 open flows and 1 held flow .*"cross-border flows move"/);
    expect(JSON.parse((await fixture.run([...list, "--counts"])).stdout)).toMatchObject({ held: 0, elsewhere: 1 });
  });

  it.skipIf(!isHere)("are named where they were left, and the exit code is 1", async () => {
    await fixture.flow.quote("quoted", request);
    await fixture.journal.acquire("held", { owner: "another", leaseMs: 60_000, nonce: "n" });
    const line = ["flows", "move", "--from", oldUrl, "--to", newUrl, "--yes"];
    const { code, stdout, stderr } = await fixture.run(line);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `Moved: 1 flow, from ${oldUrl} to ${newUrl}.\n` });
    expect(stderr).toMatch(/"held" is run by another process: .*\n.*"quoted" is a quote that still holds: /);
    const again = await fixture.run([...line, "--json"]);
    expect(JSON.parse(again.stdout)).toEqual({
      ...{ isDone: true, from: oldUrl, to: newUrl, moved: 0, leased: ["held"], quoted: ["quoted"], failed: [] },
      isStopped: false,
    });
  });

  it.skipIf(!isHere)("stay where they are if the addresses are wrong", async () => {
    const before = await fixture.rows();
    for (const [line, message] of [
      [["--yes"], "--from"],
      [["--from", "old.example", "--yes"], "from.service is"],
      [["--from", oldUrl, "--yes"], "the same base URL"],
      [["--from", oldUrl, "--to", `${oldUrl}/`, "--yes"], "the same base URL"],
      [["--from", oldUrl, "--to", "new.example", "--yes"], "baseUrl"],
    ] as const) {
      const { code, stderr } = await fixture.run(["flows", "move", ...line]);
      expect(code).not.toBe(0);
      expect(stderr).toContain(message);
    }
    expect(await fixture.rows()).toEqual(before);
  });
});
