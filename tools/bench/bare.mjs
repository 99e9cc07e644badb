import { promisify } from "node:util";
import { makeSigningKey, nodeCrypto } from "./crypto.mjs";
import { importUndici } from "./packages.mjs";
import { intentRequest, paymentRequest, token } from "./record.mjs";

/** Signs in the thread pool, as the client does so that the event loop stays free; the others sign where they are. */
export const pooledSigning = "undici.request, crypto.sign in the pool";

/** What one writes by hand, over nothing but an HTTP library: each gives the parsed answer of a GET and of a POST. */
export const bareContenders = {
  "undici.request": (origin) => overRequest(origin, signNow),

  [pooledSigning]: (origin) => overRequest(origin, promisify(nodeCrypto().sign)),

  "undici.dispatch": async (origin) => {
    const { getGlobalDispatcher } = await importUndici();
    const send = (method, url, headers, body) =>
      new Promise((resolve, reject) => {
        const path = url.slice(origin.length);
        getGlobalDispatcher().dispatch({ origin, path, method, headers, body }, new Collector(resolve, reject));
      });
    return calls(origin, {
      get: (url) => send("GET", url, getHeaders),
      post: (url, body, extra) => send("POST", url, { ...postHeaders, ...extra }, body),
    });
  },

  "global fetch": async (origin) =>
    calls(origin, {
      get: async (url) => (await fetch(url, { headers: getHeaders })).json(),
      post: async (url, body, extra) =>
        (await fetch(url, { method: "POST", headers: { ...postHeaders, ...extra }, body })).json(),
    }),
};

async function overRequest(origin, signText) {
  const { request } = await importUndici();
  const read = async ({ body }) => JSON.parse(await body.text());
  return calls(
    origin,
    {
      get: async (url) => read(await request(url, { headers: getHeaders })),
      post: async (url, body, extra) =>
        read(await request(url, { method: "POST", headers: { ...postHeaders, ...extra }, body })),
    },
    signText,
  );
}

let sign;
const signNow = (...input) => {
  sign ??= nodeCrypto().sign;
  return sign(...input);
};

const getHeaders = { accept: "application/json", authorization: "Bearer bench-token" };
const postHeaders = { ...getHeaders, "content-type": "application/json" };

class Collector {
  #resolve;
  #reject;
  #chunks = [];

  constructor(resolve, reject) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart() {}

  onResponseStart() {}

  onResponseData(_controller, chunk) {
    this.#chunks.push(chunk);
  }

  onResponseEnd() {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#resolve(JSON.parse(bytes.toString()));
  }

  onResponseError(_controller, error) {
    this.#reject(error);
  }
}

/** The same work as the client's, in a few lines each. */
function calls(origin, { get, post }, signText = signNow) {
  let key;
  async function* eachPage(size) {
    for (let after = ""; ; ) {
      const page = await get(`${origin}/payments?_size=${size}${after === "" ? "" : `&_after=${after}`}`);
      if (page.length === 0) return;
      yield page;
      after = page.at(-1).pagingToken;
    }
  }
  const records = async (size, take) => {
    for await (const page of eachPage(size)) {
      for (const record of page) if (!take(record)) return;
    }
  };
  return {
    login: () => post(`${origin}/token`, "{}"),
    get: () => get(`${origin}/payment-intents/${token(1)}`),
    create: () => post(`${origin}/payment-intents`, JSON.stringify(intentRequest)),
    sign: async () => {
      key ??= makeSigningKey();
      const body = JSON.stringify(paymentRequest);
      const signature = await signText("sha256", Buffer.from(`/payments${body}`), key);
      return post(`${origin}/payments`, body, { "x-service-signature-base64": signature.toString("base64") });
    },
    records,
    pages: records,
  };
}
