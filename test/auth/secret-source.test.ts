import { inspect } from "node:util";
import { expect, it } from "vitest";
import { GrantError } from "../../src/auth/grant-failure.js";
import { readSecret } from "../../src/auth/token-endpoint.js";

async function failureOf(source: () => unknown) {
  try {
    await readSecret("password", source as () => string);
  } catch (error) {
    if (error instanceof GrantError) return error;
    throw error;
  }
  throw new Error("a secret was read");
}

it("reads a secret as it is, and what a function returns, at once or promised", async () => {
  expect(await readSecret("password", "p")).toBe("p");
  expect(await readSecret("password", () => "p")).toBe("p");
  expect(await readSecret("password", async () => "p")).toBe("p");
});

it.each([
  ["a system's code", Object.assign(new Error("canary"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
  ["a code of Node's", Object.assign(new Error("canary"), { code: "ERR_INVALID_URL" }), "ERR_INVALID_URL"],
  ["a code that may be a secret", Object.assign(new Error("canary"), { code: "CANARY_canary" }), "THREW"],
  ["a known code behind other text", Object.assign(new Error(), { code: "canary_ECONNREFUSED" }), "THREW"],
  ["a known code before other text", Object.assign(new Error(), { code: "ECONNREFUSED_canary" }), "THREW"],
  ["a name that may be a secret", Object.assign(new Error(), { name: "canary" }), "THREW"],
  ["a text", "canary", "THREW"],
  ["nothing", undefined, "THREW"],
])("tells that a function threw %s, and shows no more than a known code", async (_, thrown, reason) => {
  for (const source of [() => Promise.reject(thrown), () => raise(thrown)]) {
    const error = await failureOf(source);
    expect(error.failure).toEqual({ class: "no-secret", secretName: "password", reason });
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toMatch(/canary/i);
  }
});

function raise(thrown: unknown): never {
  throw thrown;
}

it.each([undefined, null, "", 7, { password: "canary" }, "canary\ud800"])(
  "takes nothing but text that can be sent (case %#)",
  async (given) => {
    for (const source of [() => given, async () => given]) {
      const error = await failureOf(source);
      expect(error.failure).toEqual({ class: "no-secret", secretName: "password", reason: "NO_SECRET_RETURNED" });
      expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain("canary");
    }
  },
);

it.each(["canary\n", "canary\r\n", "\rcanary"])(
  "takes no secret with a line break: it is of the file, and the login would be refused",
  async (given) => {
    const error = await failureOf(() => given);
    expect(error.failure).toEqual({ class: "no-secret", secretName: "password", reason: "LINE_BREAK_RETURNED" });
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain("canary");
  },
);
