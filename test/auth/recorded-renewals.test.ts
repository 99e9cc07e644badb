import { expect, it } from "vitest";
import type { TokenStore } from "../../src/auth/token-store.js";
import { CrossBorderError } from "../../src/core/errors.js";
import type { Transport } from "../../src/wire/transport.js";
import { Recorded } from "../support/recorded.js";
import { answers } from "./answers.js";
import { type Fleet, fleetOf, type StoreFault } from "./fleet-fixture.js";
import { auth, client, failure, handled, managerFixture, pass, withFakeTime } from "./manager-fixture.js";
import type { IdentityFault } from "./rotating-identity.js";

withFakeTime();

interface Case {
  /** What the client begins with: a password, or a refresh token. */
  readonly begins: "password" | "session";
  readonly shared: boolean;
  /** When the next call comes. */
  readonly moment: (typeof moments)[number];
  readonly storeFault?: StoreFault | undefined;
  /** What another process does meanwhile. */
  readonly rival?: keyof typeof rivals | undefined;
  /** What happens to the requests from then on. */
  readonly faults: readonly (IdentityFault | "ended" | "refused")[];
}

const oneByOne: readonly IdentityFault[] = ["lost", "lost-before", "unsent", "failing", "throttled", "bad-gateway"];
const faultLists: readonly Case["faults"][] = [
  ...[[], ...oneByOne.map((fault) => [fault])],
  ...([
    ["lost", "unsent"],
    ["unsent", "unsent", "failing"],
    ["throttled", "throttled"],
  ] as const),
  ...([["ended"], ["refused"], ["ended", "refused"]] as const),
];
const storeFaults: readonly StoreFault[] = ["refuses", "hangs", "loses-responses", "repeats"];

const renewed = () => {
  const session = { v: 1, accessToken: "of a rival", lifetimeMs: 300_000, refreshToken: "refresh of a rival" };
  return { value: JSON.stringify({ ...session, expiresAtMs: Date.now() + 300_000 }), version: "rival" };
};

/** The call of the store that another process comes before, and what it then replies. */
const rivals = {
  ...{ "read 1": renewed, "read 2": renewed, "read 3": renewed, "read 4": renewed },
  ...{ "read 3, wiped": () => undefined, "lock 1": () => false, "lock 2": () => false },
  ...{ "write 1": () => false, "write 2": () => false },
};

const moments = ["first", "expired", "leeway", "last-second", "rejected"] as const;

function* cases(moment: Case["moment"]): Generator<Omit<Case, "begins" | "moment">> {
  for (const shared of [false, true]) for (const faults of faultLists) yield { shared, faults };
  for (const storeFault of storeFaults)
    for (const faults of [[], ["lost"]] as const) yield { shared: true, storeFault, faults };
  if (moment !== "first" && moment !== "expired") return;
  for (const rival of Object.keys(rivals) as (keyof typeof rivals)[])
    for (const faults of [[], ["failing"], ["ended"], ["refused"]] as const) yield { shared: true, rival, faults };
}

/** What a client asks of its store and of the identity provider, with the time of each. */
function watched({ store, identity }: Fleet, log: (what: string) => void) {
  const counts = new Map<string, number>();
  let rival: Case["rival"];
  const ask = (name: "read" | "lock" | "unlock" | "write", what: string, given: readonly unknown[]) => {
    log(what);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const [at, reply] = Object.entries(rivals).find(([key]) => key === rival) ?? [];
    if (at?.split(",")[0] === `${name} ${counts.get(name)}`) return reply?.();
    return Reflect.apply(store[name], store, given);
  };
  const transport: Transport = {
    close: async () => {},
    send(request, deadline) {
      const { grant_type, refresh_token = "" } = Object.fromEntries(new URLSearchParams(request.body ?? ""));
      log(`${grant_type ?? "logout"} ${refresh_token}`.trim());
      return identity.send(request, deadline);
    },
  };
  const watchedStore: TokenStore = {
    read: async (...given) => ask("read", "read", given),
    lock: async (...given) => ask("lock", "lock", given),
    unlock: async (...given) => ask("unlock", "unlock", given),
    async write(...given) {
      const { spentBy, refreshToken, retryNotBefore } = JSON.parse(given[1]);
      const note = retryNotBefore && `until ${retryNotBefore.atMs - Date.now()}`;
      const mark = spentBy?.length > 20 ? "marked" : spentBy;
      return ask("write", ["write", refreshToken, mark, note].filter(Boolean).join(" "), given);
    },
  };
  const meet = (met: Case["rival"]) => {
    rival = met;
    counts.clear();
  };
  return { transport, store: watchedStore, meet };
}

async function story({ begins, shared, moment, storeFault, rival, faults }: Case): Promise<string> {
  const fleet = fleetOf(0, { random: () => 0.5 });
  const { identity, store } = fleet;
  let startMs = performance.now();
  const log: string[] = [];
  const note = (what: string) => void log.push(`${Math.round(performance.now() - startMs)} ${what}`);
  const parts = watched(fleet, note);
  const member = fleet.join({
    auth: begins === "password" ? auth : { ...client, refreshToken: identity.begin() },
    transport: parts.transport,
    store: shared ? parts.store : undefined,
  });
  const come = (what: Promise<unknown>) =>
    handled(what).then(
      (value) => note(`→ ${typeof value === "object" ? JSON.stringify(value) : value}`),
      (error: unknown) => note(`→ ${error instanceof CrossBorderError ? error.code : String(error)}`),
    );
  let used = "";
  if (moment !== "first") {
    used = await member.call();
    member.manager.accepted(used);
    await pass({ expired: 301_000, leeway: 296_000, "last-second": 299_500, rejected: 20_000 }[moment]);
  }
  [startMs, log.length] = [performance.now(), 0];
  parts.meet(rival);
  store.fault = storeFault;
  for (const fault of faults) {
    if (fault === "ended") identity.endSessions();
    else if (fault === "refused") identity.refusesLogins = true;
    else identity.faults.push(fault);
  }
  void come(moment === "rejected" ? member.renew(used) : member.call({ timeoutMs: 5000 }));
  await pass(6000);
  note(`hold ${JSON.stringify(member.manager.hold())}`);
  void come(member.call({ timeoutMs: 40_000, maxRetries: 0 }));
  await pass(70_000);
  void come(member.call());
  await pass(60_000);
  for (let time = 0; time < 2; time++) {
    void come(member.manager.endSession().then((failure) => failure ?? "ended"));
    await pass(20_000);
  }
  return `${log.join(", ")}, ${JSON.stringify(member.events)}`;
}

it.each((["password", "session"] as const).flatMap((begins) => moments.map((moment) => ({ begins, moment }))))(
  "makes the recorded requests, whatever comes of them: $begins, $moment",
  async (group) => {
    const recorded = new Recorded();
    for (const one of cases(group.moment)) recorded.add(JSON.stringify(one), await story({ ...group, ...one }));
    await expect(String(recorded)).toMatchFileSnapshot(`recorded/${group.begins}-${group.moment}.txt`);
  },
);

it("says the recorded messages", async () => {
  const recorded = new Recorded();
  for (const { name, reply } of answers) {
    const { call, manager } = managerFixture([reply]);
    const { message } = await failure(call({ maxRetries: 0 }));
    recorded.add(name, `${message} ${JSON.stringify(manager.hold())}`);
  }
  await expect(String(recorded)).toMatchFileSnapshot("recorded/messages.txt");
});
