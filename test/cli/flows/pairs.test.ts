import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

describe.each(journalKinds)("two people at the command, over $kind", ({ kind, isHere }) => {
  const open = () => openFlowsFixture(kind, mkdtempSync(join(tmpdir(), "pairs-")), { decisions: { people: 2 } });

  it.skipIf(!isHere)("propose, refuse, and approve, and neither decides alone", async () => {
    await using fixture = await open();
    fixture.fate = "lost";
    expect(await fixture.flow.run("k", request)).toMatchObject({ status: "held" });
    const run = (...line: string[]) => fixture.run(["flows", ...line], { env: { CROSS_BORDER_PEOPLE: "2" } });
    const alone = await run("resolve", "k", "release", "--by", "olga", "--why", "t", "--yes");
    expect([alone.code, alone.stderr]).toEqual([3, expect.stringContaining("a decision takes two people")]);
    const plan = await run("propose", "k", "release", "--by", "olga", "--why", "t-1");
    expect(plan.stdout).toContain("Nothing was changed. Run it with --yes to decide.");
    const approve = (by: string, revision: number) =>
      run("approve", "k", "--by", by, "--revision", String(revision), "--yes", "--json");
    const none = await approve("petra", 1);
    expect([none.code, none.stderr]).toEqual([3, expect.stringContaining("nothing is proposed")]);
    const propose = ["propose", "k", "release", "--by", "olga", "--why", "t-1", "--yes", "--json"];
    const first = JSON.parse((await run(...propose)).stdout);
    expect(first).toMatchObject({ key: "k", step: "proposed", action: "release", by: "olga", why: "t-1" });
    const same = await approve(" OLGA", first.revision);
    expect([same.code, same.stderr]).toEqual([3, expect.stringContaining("Another person must approve")]);
    expect((await run("approve", "k", "--by", "petra", "--yes")).code).toBe(2);
    expect((await run("refuse", "k", "--by", "petra")).code).toBe(0);
    const second = JSON.parse((await run(...propose)).stdout);
    expect((await approve("petra", first.revision)).code).toBe(3);
    const shown = await run("show", "k");
    expect(shown.stdout).toMatch(new RegExp(`^revision +${second.revision}$`, "m"));
    expect(shown.stdout).toMatch(/^step +at \S+: claimed, by /m);
    expect(shown.stdout).toMatch(/^proposal +\S+: release, by olga: t-1$/m);
    const approved = await approve("petra", second.revision);
    expect(JSON.parse(approved.stdout)).toMatchObject({ isDecided: true, phase: "refused" });
    expect(fixture.bank.released).toEqual([]);
    expect(await fixture.flow.run("k", request)).toMatchObject({
      status: "rejected",
      decisions: [{ action: "release", by: "olga", approvedBy: "petra" }],
    });
    expect(fixture.bank.released).toEqual(["k"]);
  });

  it.skipIf(!isHere)("show the record that the flow would be settled with", async () => {
    await using fixture = await open();
    fixture.fate = "lost";
    expect(await fixture.flow.run("k", request)).toMatchObject({ status: "held" });
    const { claim, revision } = (await fixture.flow.details("k")) ?? {};
    const creationRequestSignatureBase64 = claim?.signature;
    const payment = { ...request, id: "p-of-olga", senderGatewayStatus: "reverted", creationRequestSignatureBase64 };
    await fixture.flow.propose("k", "found", { by: "olga", why: "t-1", revision, payment: payment as never });
    const plan = await fixture.run(["flows", "approve", "k", "--by", "petra"]);
    expect(plan.stdout).toMatch(/record +payment p-of-olga, transaction .*, sender reverted, receiver /);
    expect(plan.stdout).not.toContain(request.receiverAccount);
  });
});
