import { isOperationName } from "../../resources/catalogue.js";
import type { JsonObject } from "../request-body.js";
import { SandboxRefusal } from "../responses.js";
import type { Sandbox } from "../sandbox.js";
import type { FaultKind } from "./console-state.js";
import type { Faults } from "./faults.js";
import type { PaymentDesk } from "./payment-desk.js";
import { intentLine } from "./read-state.js";

export interface Controls {
  readonly sandbox: Sandbox;
  readonly desk: PaymentDesk;
  readonly faults: Faults;
}

type Action = (controls: Controls, fields: JsonObject) => unknown;

/**
 * What a `POST` to the console can ask for, by the last part of its path, and what the page is told then.
 *
 * @throws {SandboxRefusal} when a field is missing or wrong.
 */
export const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  [
    "intent",
    async ({ desk }, fields) => {
      const response = await desk.createIntent(text(fields, "senderGatewayId"), fields);
      const intent = desk.intentIn(response);
      return { ...response, ...(intent && { intent: intentLine(intent) }) };
    },
  ],
  ["payment", ({ desk }, fields) => desk.createPayment(text(fields, "intentId"), text(fields, "transactionId"))],
  ["key", ({ desk }, fields) => desk.replaceKey(text(fields, "gatewayId"))],
  ["fault", ({ faults }, fields) => faults.arm(faultOf(fields))],
  ["cancel-fault", ({ faults }, fields) => faults.cancel(text(fields, "id"))],
  [
    "revoke-tokens",
    ({ sandbox }, fields) => sandbox.revokeTokens(oneOf<"access" | "all">(fields, "which", ["access", "all"])),
  ],
  [
    "receiver-status",
    ({ sandbox }, fields) => {
      sandbox.setReceiverStatus(text(fields, "paymentId"), text(fields, "status"));
    },
  ],
]);

function faultOf(fields: JsonObject) {
  const of = text(fields, "of");
  if (of !== "operations" && of !== "token" && !isOperationName(of)) throw wrong("of", "the name of an operation");
  const kind = oneOf<FaultKind>(fields, "kind", ["lost", "delay", "unavailable"]);
  const delayMs = Math.round(1000 * number(fields, "delaySeconds", 0, 600));
  return { kind, of, times: Math.floor(number(fields, "times", 1, 1000)), delayMs };
}

function text(fields: JsonObject, name: string): string {
  const value = fields[name];
  if (typeof value === "string" && value !== "") return value;
  throw wrong(name, "a text that is not empty");
}

function number(fields: JsonObject, name: string, least: number, most: number): number {
  const value = Number(text(fields, name));
  if (value >= least && value <= most) return value;
  throw wrong(name, `a number from ${least} to ${most}`);
}

function oneOf<Choice extends string>(fields: JsonObject, name: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((one) => one === fields[name]);
  if (choice !== undefined) return choice;
  throw wrong(name, choices.join(" or "));
}

function wrong(name: string, wanted: string): SandboxRefusal {
  return new SandboxRefusal("invalid_value", `${name} must be ${wanted}`);
}
