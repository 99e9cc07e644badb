import { describe, expect, it } from "vitest";
import { ApiError, type Effect } from "../../../src/errors/errors.js";
import { toFlowRefusal } from "../../../src/flows/state/flow-refusal.js";

function responseOf(status: number, effect: Effect): ApiError {
  const response = { status, headers: {}, text: "" };
  return ApiError.of("the service's response", { code: `http_${status}`, effect, serviceCode: "limit", response });
}

describe("a refusal by the service, after which money may be given back", () => {
  it.each([400, 422, 429, 499])("is a %s that says that nothing was done", (status) => {
    expect(toFlowRefusal(responseOf(status, "none"))).toMatchObject({ by: "service", status, code: "limit" });
    expect(toFlowRefusal(responseOf(status, "possible"))).toBeUndefined();
  });

  it.each([302, 399, 500, 503])("is no %s, whatever it is said to have done", (status) => {
    expect(toFlowRefusal(responseOf(status, "none"))).toBeUndefined();
  });
});
