import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { deskListener, type OperatorDeskOptions, operatorDesk } from "cross-border-payments/desk";
import type { PaymentFlow } from "cross-border-payments/flow";
import { onTestFinished } from "vitest";
import { flowFixture, isList, isPayment, request } from "../flows/flow-fixture.js";
import { hiddenFields, type Page } from "../support/form-browser.js";
import { originOf } from "../support/origin-of.js";

export type Form = Readonly<Record<string, string>>;

interface Fixture extends Partial<OperatorDeskOptions> {
  readonly people?: 1 | 2;
  /** What stands before the desk, such as a parser of forms. */
  readonly before?: (incoming: IncomingMessage) => Promise<unknown>;
}

interface Asked {
  readonly form?: Form;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** A desk over real sockets, a held flow, and users who are logged in by a cookie. */
export async function deskFixture({ people = 2, before = async () => {}, ...more }: Fixture = {}) {
  const memo = `rent</textarea><script>document.title = "attacked"</script>"'`;
  const searches: { waitFor: Promise<undefined> | undefined } = { waitFor: undefined };
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (isPayment(seen)) return Response.json({}, { status: 504 });
      return isList(seen) ? searches.waitFor : undefined;
    },
  });
  const flow: PaymentFlow = fixture.flow({ decisions: { people } });
  const key = "order/<b>1</b>?&flow=x#";
  await flow.run(key, { ...request, memo });
  const sessions: Readonly<Record<string, string>> = { "s-olga": "Olga", "s-petra": "Petra", "s-olga2": " OLGA " };
  const shown: object[] = [];
  const errors: unknown[] = [];
  const server = createServer();
  const origin = await originOf(server);
  const desk = operatorDesk({
    flow,
    origin,
    authenticate: (asked) => {
      const name = sessions[/session=([\w-]+)/.exec(asked.headers.get("cookie") ?? "")?.[1] ?? ""];
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

  /** Asks as a browser of this session. A header that is `undefined` is left out. */
  function ask(session: string, path: string, { form, method, headers = {} }: Asked = {}): Promise<Page> {
    const all = {
      ...{ host: new URL(origin).host, cookie: `session=${session}` },
      ...(form !== undefined && { origin, "content-type": "application/x-www-form-urlencoded" }),
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const { port } = new URL(origin);
    return new Promise((resolve, reject) => {
      // The server closes a connection whose form was too long.
      const place = { host: "127.0.0.1", port, path, agent: false } as const;
      const to = { ...place, method: method ?? (form === undefined ? "GET" : "POST"), headers: sent };
      const outgoing = httpRequest(to, (incoming) => {
        const { statusCode: status = 0, headers } = incoming;
        text(incoming).then((body) => resolve({ status, headers, location: headers.location, body }), reject);
      });
      outgoing.on("error", reject);
      outgoing.end(form && String(new URLSearchParams(form)));
    });
  }

  const target = `/desk?flow=${encodeURIComponent(key)}`;
  /** The hidden fields of the flow's page, in the form for a task. */
  const fieldsOf = async (session: string, task: string) => hiddenFields(await ask(session, target), "", task);
  /** What the confirmation page sends. */
  const proposal = async (more: Form = {}): Promise<Form> => ({
    ...(await fieldsOf("s-olga", "review")),
    ...{ do: people === 2 ? "propose" : "resolve", action: "release", why: "ticket 4711", ...more },
  });
  const post = (session: string, form: Form, headers: Asked["headers"] = {}) => ask(session, target, { form, headers });
  const outcomeOf = async () => (await flow.details(key))?.outcome;
  return {
    ...{ ...fixture, searches, flow, desk, key, origin, target, ask, post, fieldsOf, proposal, shown, errors },
    outcomeOf,
    async proposalOf() {
      const outcome = await outcomeOf();
      return outcome?.status === "held" ? outcome.proposal : undefined;
    },
  };
}
