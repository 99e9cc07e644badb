import { expect, it } from "vitest";
import { granted, responded } from "./fake-token-endpoint.js";
import { handled, type ManagerFixture, managerFixture, pass, settle, withFakeTime } from "./manager-fixture.js";

withFakeTime();

const away = responded(503, "<html>");

it("obtains a token where there is none", async () => {
  const { ensure, fake, call } = managerFixture([granted("a")]);
  await ensure(30_000);
  expect(await call()).toBe("a");
  expect(fake.requests).toHaveLength(1);
});

it("fails as a call does where there is no token to be had", async () => {
  const { ensure } = managerFixture([responded(401, '{"error":"invalid_grant"}')]);
  await expect(ensure(30_000)).rejects.toMatchObject({ code: "login_refused", effect: "none" });
});

it("keeps a token that lasts as long as it is wanted, and renews one that does not", async () => {
  const { ensure, fake, call } = managerFixture([granted("a"), granted("b")]);
  await call();
  await pass(270_000);
  await ensure(30_000);
  expect(fake.requests).toHaveLength(1);
  await ensure(30_001);
  expect(await call()).toBe("b");
  expect(fake.requests).toHaveLength(2);
});

it("waits for the new token, which calls do not", async () => {
  const { ensure, fake, call } = managerFixture([granted("a")]);
  await call();
  await pass(280_000);
  let isSure = false;
  const sure = ensure(30_000).then(() => {
    isSure = true;
  });
  await settle();
  expect([fake.pending, isSure, await call()]).toEqual([1, false, "a"]);
  fake.reply(granted("b"));
  await sure;
  expect(await call()).toBe("b");
});

it("makes one renewal for all who ask at once", async () => {
  const { ensure, fake, call } = managerFixture([granted("a")]);
  await call();
  await pass(280_000);
  const asked = Promise.all(Array.from({ length: 100 }, () => ensure(30_000)));
  await settle();
  expect(fake.pending).toBe(1);
  fake.reply(granted("b"));
  await asked;
  expect(fake.requests).toHaveLength(2);
});

it.each([
  ["shorter than it is wanted", 20, 10_000],
  ["hardly longer than it is wanted", 31, 15_500],
])("renews a token whose whole lifetime is %s once half of it is over", async (_, lifetime, halfMs) => {
  const short = { expires_in: lifetime };
  const { ensure, fake } = managerFixture([granted("a", short), granted("b", short)]);
  for (let time = 0; time < 50; time++) await ensure(30_000);
  await pass(halfMs);
  await ensure(30_000);
  expect(fake.requests).toHaveLength(1);
  await pass(1);
  for (let time = 0; time < 50; time++) await ensure(30_000);
  expect(fake.requests).toHaveLength(2);
});

it("does not fail over a renewal while the old token lives, and leaves the endpoint alone as after any failure", async () => {
  const { ensure, fake, call } = managerFixture([granted("a"), away], { random: () => 1 });
  await call();
  await pass(280_000);
  await ensure(30_000);
  for (let time = 0; time < 50; time++) await ensure(30_000);
  expect(await call()).toBe("a");
  // The refresh, and no more until the backoff is over.
  expect(fake.requests).toHaveLength(2);
});

it("fails over the renewal once the old token is over", async () => {
  const { ensure, fake, call } = managerFixture([granted("a")]);
  await call();
  await pass(295_000);
  const sure = handled(ensure(30_000, { maxRetries: 0 }));
  await pass(5000);
  fake.expect(away, away);
  fake.reply(away);
  await expect(sure).rejects.toMatchObject({ code: "token_endpoint_failing" });
});

it("asks for nothing when its time is over already, and ends with it otherwise", async () => {
  const { ensure, fake, call } = managerFixture([granted("a")]);
  await call();
  await pass(280_000);
  await expect(ensure(30_000, { signal: AbortSignal.abort() })).rejects.toMatchObject({ kind: "abort" });
  await settle();
  expect(fake.requests).toHaveLength(1);
  const late = handled(ensure(30_000, { timeoutMs: 500 }));
  await pass(500);
  await expect(late).rejects.toMatchObject({ kind: "timeout" });
  await finishRenewal(fake);
});

async function finishRenewal(fake: ManagerFixture["fake"]): Promise<void> {
  fake.reply(granted("b"));
  await settle();
}
