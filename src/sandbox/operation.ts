import { type Handlers, handlerOf } from "./handlers.js";
import { assertBody, type JsonObject, parseBody } from "./request-body.js";
import { emptyResponse, jsonResponse, refusalResponse, SandboxRefusal } from "./responses.js";
import type { Route } from "./routes.js";
import type { SandboxRequest, SandboxSettings } from "./sandbox-options.js";
import type { SandboxCall, Service } from "./service.js";
import { checkSignature, type RequestToVerify, signatureHeader } from "./signature-check.js";

/** A request for one operation, by someone who may make it. */
export interface OperationRequest {
  readonly seen: SandboxRequest;
  readonly bytes: Uint8Array;
  readonly route: Route;
}

interface Responder {
  readonly machine: number;
}

/** Does what is asked for: everything or nothing. */
export async function respondToOperation(
  service: Service,
  handlers: Handlers,
  request: OperationRequest & Responder,
): Promise<Response> {
  const { operation } = request.route;
  try {
    const call = await callOf(service, request);
    const output = handlerOf(handlers, operation.name)(call);
    return output === undefined ? emptyResponse() : jsonResponse(output);
  } catch (error) {
    if (error instanceof SandboxRefusal) return refusalResponse(error, operation.verb);
    throw error;
  }
}

const noBody: JsonObject = {};

async function callOf(
  { ledger, settings }: Service,
  request: OperationRequest & Responder,
): Promise<SandboxCall<JsonObject>> {
  const { seen, bytes, route, machine } = request;
  const { operation, params } = route;
  const body = operation.body === undefined ? noBody : parseBody(bytes, seen.headers.get("content-type"));
  const signed = signedRequest(settings, request, body);
  const signature = settings.signedOperations.has(operation.name)
    ? await checkSignature(ledger, signed, settings.quirks)
    : undefined;
  assertBody(operation, body, settings.quirks.requiredFields);
  const query = new URLSearchParams(seen.query);
  return { params, query, body, rawText: seen.body, signedPath: signed.signedPath, signature, machine };
}

export function signedRequest(
  settings: SandboxSettings,
  { seen, bytes, route }: OperationRequest,
  body: JsonObject,
): RequestToVerify {
  const { query, headers } = seen;
  const path = settings.quirks.signedPath === "withoutBase" ? seen.path.slice(settings.basePath.length) : seen.path;
  const signedPath = settings.signQuery && query !== "" ? `${path}?${query}` : path;
  return { ...route, body, signedPath, rawBody: bytes, signature: headers.get(signatureHeader) };
}
