import type { SimulatedPayment } from "./list-page.js";
import { timedToken, uuidOf } from "./paging-tokens.js";
import type { TokenKind } from "./profile.js";

const made = new Map<string, readonly SimulatedPayment[]>();

/** Payments of others, from the day before. */
export function background(kind: TokenKind, count: number): readonly SimulatedPayment[] {
  const name = `${kind} ${count}`;
  const known = made.get(name) ?? Array.from({ length: count }, (_, index) => recordOf(kind, index));
  made.set(name, known);
  return known;
}

function recordOf(kind: TokenKind, index: number): SimulatedPayment {
  const id = `other-${index}`;
  const madeMs = Date.UTC(2025, 11, 31, 12, 0, index);
  const createdAt = new Date(madeMs).toISOString();
  const token = kind === "timed" ? timedToken(madeMs, index) : tokenOf(kind, index);
  const text = JSON.stringify({
    id,
    createdAt,
    updatedAt: createdAt,
    pagingToken: token,
    senderGatewayId: "another gateway",
    senderGatewayTransactionId: `of another ${index}`,
    memo: "of another gateway",
    creationRequestBody: JSON.stringify({ senderGatewayTransactionId: `of another ${index}` }),
    creationRequestSignatureBase64: btoa(`signature of another ${index}`),
  });
  return { id, createdAt, token, text, listedAtMs: 0 };
}

function tokenOf(kind: TokenKind, index: number): string | undefined {
  if (kind === "none") return undefined;
  if (kind === "falling") return String(90_000 - index);
  if (kind === "uuid") return uuidOf((index * 1237) % 4096, index);
  return String(1000 + index);
}
