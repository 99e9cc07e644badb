import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { deskListener, type OperatorDeskOptions, operatorDesk } from "cross-border-payments/desk";
import type { PaymentFlow } from "cross-border-payments/flow";
import { expect, onTestFinished } from "vitest";
import { flowFixture, isList, isPayment, request } from "../flows/flow-fixture.js";
import { originOf } from "../support/origin-of.js";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

interface Fixture extends Partial<OperatorDeskOptions> {
  readonly people?: 1 | 2;
  /** What stands before the desk, such as a parser of forms. */
  readonly before?: (incoming: IncomingMessage) => Promise<unknown>;
}

/** A desk over real sockets, a held flow, and users who are logged in by a cookie. */
export async function deskFixture({ people = 2, before = async () => {}, ...more }: Fixture = {}) {
  const memo = `rent</textarea><script>document.title = "attacked"</script>"'`;
  const searches: { waitFor: Promise<Response | undefined> | undefined } = { waitFor: undefined };
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (isPayment(seen)) return Response.json({}, { status: 504 });
      return isList(seen) ? searches.waitFor : undefined;
    },
  });
  const flow: PaymentFlow = fixture.flow({ decisions: { people } });
  const keyOf = "order/<b>1</b>?&flow=x#";
  await flow.run(keyOf, { ...request, memo });
  const sessions = new Map([
    ["s-olga", "Olga"],
    ["s-petra", "Petra"],
    ["s-olga2", " OLGA "],
  ]);
  const shown: object[] = [];
  const errors: unknown[] = [];
  const server = createServer();
  const origin = await originOf(server);
  const { port } = new URL(origin);
  const desk = operatorDesk({
    flow,
    origin,
    authenticate: (asked) => {
      const name = sessions.get(/session=([\w-]+)/.exec(asked.headers.get("cookie") ?? "")?.[1] ?? "");
      return name === undefined ? null : { name };
    },
    on: { shown: (event) => shown.push(event), error: (error) => errors.push(error) },
    ...more,
  });
  const listener = deskListener(desk);
  server.on("request", async (incoming, outgoing) => {
    await before(incoming);
    await listener(incoming, outgoing);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });

  /** As a browser of this session sends it; what is given comes over it, and nothing for `undefined`. */
  function ask(
    session: string,
    target: string,
    { form, method = form === undefined ? "GET" : "POST", headers = {}, signal }: Asked = {},
  ): Promise<Answer> {
    const own = {
      ...{ host: `127.0.0.1:${port}`, cookie: `session=${session}` },
      ...(form !== undefined && { origin, "content-type": "application/x-www-form-urlencoded" }),
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
    return new Promise((resolve, reject) => {
      const to = { host: "127.0.0.1", port, path: target, method, headers: sent, ...(signal && { signal }) };
      const outgoing = httpRequest(to, (incoming) => {
        let body = "";
        incoming.on("data", (data) => {
          body += data;
        });
        incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }));
      });
      outgoing.on("error", reject);
      outgoing.end(typeof form === "string" ? form : form && String(new URLSearchParams(form)));
    });
  }

  const target = `/desk?flow=${encodeURIComponent(keyOf)}`;
  /** The fields of the page's form for a task. */
  async function fieldsOf(session: string, task: string): Promise<Record<string, string>> {
    const { body } = await ask(session, target);
    const [, form = ""] =
      new RegExp(`<form method="post">(<input type="hidden" name="do" value="${task}">.*?)</form>`, "s").exec(body) ??
      [];
    const hidden = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
    expect(hidden.length, `the form ${task} in ${body}`).toBeGreaterThan(2);
    return Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]));
  }
  const proposalOf = async () => {
    const outcome = (await flow.details(keyOf))?.outcome;
    return outcome?.status === "held" ? outcome.proposal : undefined;
  };
  const revisionOf = async () => (await flow.details(keyOf))?.revision ?? 0;
  return {
    ...fixture,
    proposalOf,
    revisionOf,
    searches,
    flow,
    desk,
    key: keyOf,
    memo,
    origin,
    target,
    ask,
    fieldsOf,
    shown,
    errors,
    sessions,
  };
}

interface Asked {
  readonly form?: Record<string, string> | string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Cuts the connection. */
  readonly signal?: AbortSignal;
}
