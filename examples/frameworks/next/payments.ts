import { Bank } from "../bank.ts";
import { type Reply, replyToError } from "../reply.ts";
import { staffPages } from "../staff-pages.ts";

async function open() {
  const bank = await Bank.open();
  // With NEXT_MANUAL_SIG_HANDLE set, Next leaves the end of the process to this.
  process.once("SIGTERM", async () => {
    await bank.close();
    process.exit(0);
  });
  return { bank, ...staffPages(bank.flow) };
}

/** Next bundles routes apart from each other, so that a module may be there several times. What is global is there once. */
const shared: typeof globalThis & { payments?: ReturnType<typeof open> } = globalThis;

export function start() {
  shared.payments ??= open();
  return shared.payments;
}

/** Put authorization (the sender's own session) here, too. */
export async function respond(work: (bank: Bank) => Promise<Reply>): Promise<Response> {
  const { bank } = await start();
  const { status, headers = {}, body } = await work(bank).catch(replyToError);
  return Response.json(body, { status, headers });
}

/** Nothing where the body is no JSON. */
export function bodyOf(request: Request): Promise<unknown> {
  return request.json().catch(() => undefined);
}
