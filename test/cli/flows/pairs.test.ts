import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifyDecisions } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

describe.each(journalKinds)("two people at the command, over $kind", ({ kind, isHere }) => {
  const open = () => openFlowsFixture(kind, mkdtempSync(join(tmpdir(), "pairs-")), { decisions: { people: 2 } });

  it.skipIf(!isHere)("propose, refuse and approve, and neither decides alone", async () => {
    await using fixture = await open();
    fixture.fate = "lost";
    expect(await fixture.flow.run("k", request)).toMatchObject({ status: "held" });
    const two = { CROSS_BORDER_PEOPLE: "2" };
    const run = (...line: string[]) => fixture.run(["flows", ...line], { env: two });
    const alone = await run("resolve", "k", "release", "--by", "olga", "--why", "t", "--yes");
    expect([alone.code, alone.stderr]).toEqual([3, expect.stringContaining("a decision takes two people here")]);
    const plan = await run("propose", "k", "release", "--by", "olga", "--why", "t-1");
    expect(plan.stdout).toContain("Nothing was changed. With --yes it is.");
    const none = await run("approve", "k", "--by", "petra", "--yes");
    expect([none.code, none.stderr]).toEqual([3, expect.stringContaining("nothing is proposed")]);
    const propose = ["propose", "k", "release", "--by", "olga", "--why", "t-1", "--yes", "--json"];
    const first = JSON.parse((await run(...propose)).stdout);
    expect(first).toMatchObject({ key: "k", step: "proposed", by: "olga", why: "t-1", hash: expect.any(String) });
    const same = await run("approve", "k", "--by", " OLGA", "--yes");
    expect([same.code, same.stderr]).toEqual([3, expect.stringContaining("another person has to approve it")]);
    expect((await run("refuse", "k", "--by", "petra", "--why", "not yet")).code).toBe(0);
    const second = JSON.parse((await run(...propose)).stdout);
    expect((await run("approve", "k", "--by", "petra", "--proposal", first.hash, "--yes")).code).toBe(3);
    const shown = await run("show", "k");
    expect(shown.stdout).toMatch(/step +at .*: funds-requested → claimed, in \d+ ms, by /);
    expect(shown.stdout).toContain(`proposal  ${second.hash}`);
    expect(shown.stdout).toMatch(/proposed +release by olga at .*: t-1/);
    const approved = await run("approve", "k", "--by", "petra", "--proposal", second.hash, "--yes", "--json");
    expect(JSON.parse(approved.stdout)).toMatchObject({ isDecided: true, phase: "refused" });
    const details = JSON.parse((await run("show", "k", "--json")).stdout);
    expect(details.decisionsVerified).toMatchObject({ isIntact: true, unchained: 0 });
    expect(details.decisions.map(({ step }: { step: string }) => step)).toEqual([
      ...["proposed", "refused", "proposed", "approved"],
    ]);
    expect(verifyDecisions(details).hashes).toContain(second.hash);
    expect(fixture.bank.released).toEqual([]);
  });

  it.skipIf(!isHere)("shows who approves which record the flow would be settled with", async () => {
    await using fixture = await openFlowsFixture(kind, mkdtempSync(join(tmpdir(), "pairs-")));
    fixture.fate = "lost";
    expect(await fixture.flow.run("k", request)).toMatchObject({ status: "held" });
    const [claim] = (await fixture.flow.details("k"))?.claims ?? [];
    const { signature: creationRequestSignatureBase64 } = claim ?? {};
    const payment = { ...request, id: "p-of-olga", senderGatewayStatus: "reverted", creationRequestSignatureBase64 };
    await fixture.flow.propose("k", "found", { by: "olga", why: "t-1", payment: payment as never });
    const plan = await fixture.run(["flows", "approve", "k", "--by", "petra"]);
    expect(plan.stdout).toMatch(/record +payment p-of-olga, transaction .*, sender reverted, receiver /);
    expect(plan.stdout).not.toContain(request.receiverAccount);
  });
});
