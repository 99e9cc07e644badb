import type { ApiClient } from "../../src/api/api-client.js";
import type { RequestOptions } from "../../src/api/request-options.js";
import { ConfigError } from "../../src/core/errors.js";
import { createReporter } from "../../src/events/reporter.js";
import { toApiPromise } from "../../src/http/http-client.js";
import type { PaymentIntent } from "../../src/resources/payment-intents.js";
import { intent as intentRequest } from "../http/scripted-transport.js";
import { fakeApiClient } from "../paging/fake-api-client.js";

export { intentRequest };

export const intent: PaymentIntent = {
  id: "pi-1",
  ...intentRequest,
  senderAmount: "9.2500",
  senderName: "Erika Sender",
  receiverName: "Rob Receiver",
  receivingGatewayFee: "0.10",
  extras: null,
};

/** A client with the two steps of a payment, which records what it is asked for. */
export function gatewayClient(
  responses: {
    readonly intent?: () => unknown;
    readonly payment?: () => unknown;
    readonly signer?: () => void;
    readonly unsigned?: true;
  } = {},
) {
  const steps: string[] = [];
  const asked: { readonly operation: string; readonly body: unknown; readonly options: RequestOptions | undefined }[] =
    [];
  const responseTo = async (operation: string): Promise<unknown> => {
    if (operation === "paymentIntents.create") return (responses.intent ?? (() => intent))();
    return (responses.payment ?? (() => ({ id: "p-1", senderGatewayStatus: "processed" })))();
  };
  const client: ApiClient = fakeApiClient({
    reporter: createReporter([]),
    call: ({ name: operation }, _, input, options) => {
      steps.push(operation);
      asked.push({ operation, body: input?.body, options });
      return toApiPromise(responseTo(operation) as Promise<never>);
    },
    check: async () => {
      if (responses.signer) responses.signer();
    },
    assertCallable: () => {
      if (responses.unsigned) throw new ConfigError("payments.create is signed, and there is no signingKey");
    },
  });
  return { client, steps, asked };
}
