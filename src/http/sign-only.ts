import type { AnyOperation } from "../api/operation.js";
import type { RequestOptions } from "../api/request-options.js";
import { Deadline } from "../core/deadline.js";
import { ConfigError } from "../core/errors.js";
import { follow, type Part, type Tracing } from "../events/reporter.js";
import type { Signer } from "../signing/signer.js";
import type { CallContext } from "./call-context.js";
import { CallReport } from "./call-report.js";
import { failureOfThrown } from "./failure.js";
import { checkHeaders } from "./headers.js";
import type { PreparedRequest } from "./prepare-request.js";

/** The signed text, and the values that no error may show. */
type Signable = Pick<PreparedRequest, "signedPath" | "text" | "values">;

/** Makes a trial signature, to find a broken key or signer before it's needed. */
export async function trySigner(client: CallContext, operation: AnyOperation, options: RequestOptions): Promise<void> {
  await signOnly(client, operation, { signedPath: "/", text: "", values: {} }, options);
}

/**
 * The signature of a request that is not sent.
 *
 * @throws {ConfigError} if there is no key. @throws {SigningError} if no signature was made.
 */
export async function signOnly(
  client: CallContext,
  operation: AnyOperation,
  signable: Signable,
  { headers, timeoutMs = client.timeoutMs, signal }: RequestOptions,
): Promise<string> {
  const { signer } = client;
  assertSigner(operation, signer);
  const report = new CallReport(client, operation, checkHeaders(headers));
  report.hideValues(signable.values);
  const deadline = new Deadline({ timeoutMs, signal });
  try {
    return await signatureOf(signer, signable, deadline, client.reporter.tracing);
  } catch (thrown) {
    throw report.failed(failureOfThrown(thrown), { kind: "signed", attempts: 0, effect: "none", isSent: false });
  } finally {
    deadline.finish();
  }
}

/** If the call has ended, the signer isn't asked. */
export function signatureOf(
  signer: Signer,
  { signedPath, text }: Signable,
  deadline: Deadline,
  tracing: Tracing | undefined,
): Promise<string> {
  deadline.assertNotEnded();
  return follow(tracing, signaturePart, () => deadline.race(signer.sign(signedPath, text, deadline)));
}

const signaturePart = (): Part => ({ name: "signature", kind: "internal", attributes: {} });

/** @throws {ConfigError} if a signed operation has no key. */
export function assertSigner(
  { name: operation }: Pick<AnyOperation, "name">,
  signer: Signer | undefined,
): asserts signer is Signer {
  if (signer !== undefined) return;
  throw new ConfigError(`${operation} is signed, and the client was built without a signingKey`, { operation });
}
