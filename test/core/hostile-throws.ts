/** Things that code of a caller's may throw. Each of them holds `secret` wherever it can. */
export function hostileThrows(secret: string): Readonly<Record<string, unknown>> {
  const cyclic = Object.assign(new Error(`cyclic ${secret}`), { secret });
  cyclic.cause = cyclic;
  return {
    "an error whose name, code and own fields hold it": Object.assign(new TypeError(`failed with ${secret}`), {
      name: secret,
      code: secret,
      request: { headers: { authorization: `Bearer ${secret}` } },
      stack: `Error: x\n    at ${secret}`,
    }),
    "an error with causes": new Error("outer", { cause: new Error(secret, { cause: { secret } }) }),
    "an error that is its own cause": cyclic,
    "an AggregateError": new AggregateError([new Error(secret), secret], `all of ${secret} failed`),
    "an object that looks like an error of this package": {
      ...{ name: "ApiError", message: secret, code: secret, effect: "done", secret },
      cause: { secret },
    },
    "a string": secret,
    null: null,
    undefined: undefined,
  };
}
