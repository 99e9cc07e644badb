import { isPlain, propertyOf } from "../../options/properties.js";
import { type PaymentIntentRequest, paymentIntents } from "../../resources/payment-intents.js";

/**
 * A frozen copy of JSON data, nested objects included: whatever happens to the original, the copy stays, and nobody can change it.
 * Of any depth: a response may be nested more deeply than the stack.
 */
export function frozenCopy<T>(value: T): T {
  if (!isObject(value)) return value;
  const root = shallowCopy(value);
  const pending = [root];
  let copies: Map<object, object> | undefined;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const key of Object.keys(next)) {
      const item: unknown = Reflect.get(next, key);
      if (!isObject(item)) continue;
      copies ??= new Map([[value, root]]);
      let copy = copies.get(item);
      if (copy === undefined) {
        copy = shallowCopy(item);
        copies.set(item, copy);
        pending.push(copy);
      }
      // Not an assignment: as a field of JSON data `__proto__` is a name like any other.
      Object.defineProperty(next, key, { value: copy });
    }
    Object.freeze(next);
  }
  return root as T;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function shallowCopy(value: object): object {
  return Array.isArray(value) ? [...value] : { ...value };
}

/**
 * A copy of a request, so that what becomes of the caller's object during a flow does not matter. Each field is read once, and
 * nothing is checked: what is no object stays as it is, and fields that a request does not have are kept, to be refused.
 */
export function copyRequest(request: PaymentIntentRequest): PaymentIntentRequest {
  if (typeof request !== "object" || request === null || Array.isArray(request)) return request;
  const copy = { ...request };
  const plain = isPlain(request);
  for (const field of fields) {
    if (Object.hasOwn(copy, field)) continue;
    const value = propertyOf(request, field, plain);
    if (value !== undefined) Reflect.set(copy, field, value);
  }
  return Object.freeze(copy);
}

const fields = fieldsOfRequest();

function fieldsOfRequest(): readonly string[] {
  return Object.keys(paymentIntents.create.body?.fields ?? {});
}
