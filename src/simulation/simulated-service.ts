import { parseJsonObject } from "../wire/parse-json-object.js";
import type { WireRequest, WireResponse } from "../wire/transport.js";
import type { Address } from "./addresses.js";
import { background } from "./background.js";
import { PaymentList } from "./list-page.js";
import { pagingTokens } from "./paging-tokens.js";
import { SimulatedLists } from "./simulated-lists.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { Truth } from "./truth.js";
import type { World } from "./world.js";

type Json = Record<string, unknown>;

/** The service: intents, payments and their list. What happens to requests and responses on their way is the network's. */
export class SimulatedService {
  readonly #world: World;
  readonly #truth: Truth;
  readonly #intents = new Map<string, Json>();
  /** Ids of the intents that were paid. */
  readonly #paid = new Set<string>();
  readonly #listed: PaymentList;
  readonly #lists: SimulatedLists;
  readonly #nextToken: (madeMs: number) => string | undefined;
  #ids = 0;
  /** The address that no longer reaches the service. */
  #ended: Address | undefined;

  constructor(world: World, truth: Truth) {
    this.#world = world;
    this.#truth = truth;
    const { tokens, othersPayments } = world.profile;
    this.#nextToken = pagingTokens(tokens, (count) => world.choices.below(count));
    this.#listed = new PaymentList(background(tokens, othersPayments));
    this.#lists = new SimulatedLists(world, this.#listed);
  }

  /** Whether a payment was made that is not listed yet. */
  get hasUnlisted(): boolean {
    return this.#listed.hasUnlisted(this.#world.nowMs);
  }

  /**
   * @param sending which request of a client's it is, for one that makes a payment.
   * @param from the process that sent it.
   */
  respond(request: WireRequest, sending: number, { name, address }: SimulatedProcess): WireResponse {
    if (address === this.#ended) return request.method === "POST" ? refusal(404, "moved") : jsonResponse(200, "[]");
    if (request.path.startsWith(`${address.basePath}/payment-intents`)) return this.#createIntent(bodyOf(request));
    if (request.method === "POST") return this.#createPayment(request, bodyOf(request), sending);
    this.#world.recorder?.note({ type: "listed", process: name });
    this.#noteList(name);
    return this.#lists.respond(request.path, name, this.#truth.isAnyPaid);
  }

  /** From now on nothing is listed at an address, and what is sent there is refused. */
  endAt(address: Address): void {
    if (this.#ended === undefined) this.#world.note(`${address.origin} is switched off`);
    this.#ended = address;
  }

  /** Somebody else makes a payment, or has made it a little earlier. */
  addOther(agoMs: number): void {
    const senderGatewayTransactionId = `of another ${this.#ids}`;
    const body = { senderGatewayId: "another gateway", senderGatewayTransactionId, memo: "of another gateway" };
    const { choices, profile } = this.#world;
    const aheadMs = profile.datedAhead > 0 && choices.chance(profile.datedAhead) ? 3_600_000 : 0;
    this.#add(body, JSON.stringify(body), btoa(senderGatewayTransactionId), 0, agoMs - aheadMs);
  }

  /** Somebody else uses one of our transaction ids. */
  addLookalike(senderGatewayTransactionId: string): void {
    const body = { senderGatewayId: "our gateway", senderGatewayTransactionId, memo: "of another system" };
    this.#add(body, JSON.stringify(body), "bm90IG91cnM=", 0);
  }

  #noteList(reader: string): void {
    const { marks, profile } = this.#world;
    if (profile.hasLookalike) marks.happenedTo(reader, "a lookalike is listed");
    for (const key of this.#truth.unlistedKeys()) marks.happened(key, "the payment is not listed yet");
  }

  #createIntent(body: Json): WireResponse {
    this.#ids += 1;
    const id = `intent-${this.#ids}`;
    const intent = {
      ...body,
      id,
      senderAmount: "110.00",
      senderName: "Ada Sender",
      receiverName: "Ben Receiver",
      receivingGatewayFee: "1.00",
      extras: null,
    };
    this.#intents.set(id, intent);
    return jsonResponse(201, JSON.stringify(intent));
  }

  #createPayment(request: WireRequest, body: Json, sending: number): WireResponse {
    const { profile, choices } = this.#world;
    const intentId = String(body.id);
    if (!this.#intents.has(intentId)) return refusal(400, "unknown_intent");
    if (profile.isSingleUse && this.#paid.has(intentId)) return refusal(choices.of([422, 409, 400]), "intent_used");
    this.#paid.add(intentId);
    const text = decoder.decode(request.body);
    const signature = request.headers["x-service-signature-base64"] ?? "";
    const stored = profile.normalises ? { text: sorted(body), signature: inOtherForm(signature) } : { text, signature };
    const { listLagMs, leastListLagMs } = profile;
    const lagMs = leastListLagMs + choices.below(listLagMs - leastListLagMs + 1);
    const record = this.#add(body, stored.text, stored.signature, lagMs, 0, profile.nestsDeeply);
    this.#world.note(`the service makes ${record.id} for ${body.memo}, listed after ${lagMs} ms`);
    const { id, listedAtMs } = record;
    this.#world.recorder?.note({ type: "paid", key: String(body.memo), sending, listedAtMs });
    this.#truth.paid({ id, key: String(body.memo), intentId, sending, listedAtMs });
    return jsonResponse(201, record.text);
  }

  #add(
    body: Json,
    creationRequestBody: string,
    creationRequestSignatureBase64: string,
    lagMs: number,
    agoMs = 0,
    isDeep = false,
  ) {
    this.#ids += 1;
    const id = `payment-${this.#ids}`;
    const { choices, nowMs, profile } = this.#world;
    const madeMs = nowMs - agoMs + choices.of([0, profile.machineSkewMs]);
    const createdAt = new Date(madeMs).toISOString();
    const token = this.#nextToken(madeMs);
    const text = JSON.stringify({
      ...(profile.isStrict ? otherFields : undefined),
      ...body,
      id,
      createdAt,
      updatedAt: createdAt,
      pagingToken: token,
      senderGatewayStatus: "processed",
      receiverGatewayStatus: "pending",
      creationRequestBody,
      creationRequestSignatureBase64,
    });
    const whole = isDeep ? `${text.slice(0, -1)},"extras":${deepExtras}}` : text;
    const record = { id, createdAt, token, text: whole, listedAtMs: nowMs + lagMs };
    this.#listed.add(record);
    return record;
  }
}

/** `JSON.parse` reads it, and `JSON.stringify` runs out of stack. */
const deepExtras = "[".repeat(10_000) + "]".repeat(10_000);

/** Fields of the description that no flow reads. */
const otherFields = {
  receiverProcessingGatewayId: "their gateway",
  receiverGatewayTransactionId: "",
  senderGatewayPublicKey: "",
  receiverGatewayPublicKey: "",
  senderGatewaySignature: "",
  receiverGatewaySignature: "",
  blockchainTransactionId: "",
  creationRequestUrl: "/payments",
  creationRequestPublicKeyBase64: "",
};

const decoder = new TextDecoder();

function bodyOf({ body }: WireRequest): Json {
  return parseJsonObject(decoder.decode(body));
}

export function jsonResponse(status: number, text: string): WireResponse {
  return { status, headers: { "content-type": "application/json" }, text };
}

export function refusal(status: number, error: string): WireResponse {
  return jsonResponse(status, JSON.stringify({ error, message: "the service refuses it" }));
}

/** The same fields in another order, and an amount with a zero more. */
function sorted(body: Json): string {
  const fields = Object.entries(body).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(
    Object.fromEntries(fields.map(([name, value]) => [name, name === "senderAmount" ? `${value}0` : value])),
  );
}

function inOtherForm(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
