import { createServer } from "node:net";
import { added, addedToIntent, intent, record, token, tokenDigits } from "./record.mjs";

/**
 * The server that every contender talks to: canned bytes over raw sockets, so that it is never the slower side.
 * `node server.mjs` prints its port, and stops when its parent does.
 *
 * `/of/<n>/…` limits a list to n records.
 */
const lists = {
  "/payments": { after: "_after", size: "_size", head: "[", tail: "]" },
  "/v1/customers": {
    after: "starting_after",
    size: "limit",
    head: '{"object":"list","has_more":true,"data":[',
    tail: "]}",
  },
  "/openai/batches": { after: "after", size: "limit", head: '{"object":"list","has_more":true,"data":[', tail: "]}" },
  "/open-payments/incoming-payments": {
    after: "cursor",
    size: "first",
    head: `{"pagination":{"hasNextPage":true,"endCursor":"${token(0)}"},"result":[`,
    tail: "]}",
  },
};

const prefixes = {
  "/payment-intents": opened(addedToIntent),
  "/open-payments/incoming-payments": opened({
    ...added,
    receivedAmount: { value: "0", assetCode: "EUR", assetScale: 2 },
  }),
};
const otherPrefix = opened(added);
const { creationRequestBody: _, creationRequestSignatureBase64: __, ...addedToSigned } = added;
const signedPrefix = opened(addedToSigned);

const one = answer(JSON.stringify(intent));
const empty = answer("[]");
const login = answer(
  JSON.stringify({
    access_token: "bench-token",
    refresh_token: "bench-refresh",
    token_type: "Bearer",
    expires_in: 36_000,
  }),
);
const templates = new Map();

function answer(body) {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/** What a payment repeats of the request that created it. */
function repeatedOf(body, signature) {
  return `"creationRequestBody":${JSON.stringify(body)},"creationRequestSignatureBase64":"${signature}",`;
}

/** A record's JSON up to where the posted fields go on. */
function opened(fields) {
  return `${JSON.stringify(fields).slice(0, -1)},`;
}

/** The bytes of a page, and where the numbers of its records stand. */
function template(path, size) {
  const key = `${path} ${size}`;
  const known = templates.get(key);
  if (known !== undefined) return known;
  const { head, tail } = lists[path];
  const bytes = answer(head + Array.from({ length: size }, () => JSON.stringify(record(0))).join(",") + tail);
  const zero = Buffer.from(`"${token(0)}"`);
  const slots = [];
  for (let at = bytes.indexOf(zero); at >= 0; at = bytes.indexOf(zero, at + 1)) slots.push(at + tokenDigits);
  const cursors = slots.splice(0, head.includes(token(0)) ? 1 : 0);
  const made = { bytes, cursors, slots };
  templates.set(key, made);
  return made;
}

function page(path, query, total) {
  const { after, size } = lists[path];
  const from = Number(query.get(after) ?? 0);
  const wanted = Number(query.get(size) ?? 100);
  const count = Math.min(wanted, total - from);
  if (count <= 0) return empty;
  const { bytes, cursors, slots } = template(path, count);
  const stamped = Buffer.from(bytes);
  for (const slot of cursors) stamp(stamped, slot, from + count);
  // Each record has two: its id and its paging token.
  for (let index = 0; index < slots.length; index++) stamp(stamped, slots[index], from + 1 + (index >> 1));
  return stamped;
}

function stamp(bytes, lastDigit, number) {
  for (let rest = number, at = lastDigit; rest > 0; at--) {
    const tens = Math.floor(rest / 10);
    bytes[at] = 48 + rest - tens * 10;
    rest = tens;
  }
}

/** Answers to lists and creations, which every contender repeats. */
function respond({ method, target, signature, body }) {
  const [, ofTotal, path, search] = /^(?:\/of\/(\d+))?([^?]*)\??(.*)$/.exec(target);
  return bytesFor(method, path, search, Number(ofTotal ?? 1e12), signature, body);
}

function bytesFor(method, path, search, total, signature, body) {
  if (method === "POST") {
    if (path.endsWith("/token")) return login;
    const sent = body.startsWith("{") ? body.slice(1) : '"channel":"api"}';
    if (signature !== undefined) return answer(signedPrefix + repeatedOf(body, signature) + sent);
    return answer((prefixes[path] ?? otherPrefix) + sent);
  }
  return lists[path] === undefined ? one : page(path, new URLSearchParams(search), total);
}

/** Where the first request in `text` ends, and what it is; `undefined` while it is not whole. */
function readRequest(text) {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const lineEnd = text.indexOf("\r\n");
  const [method, target] = text.slice(0, lineEnd).split(" ");
  if (method === "GET") return { method, target, body: "", end: headEnd + 4 };
  const signature = /\r\nx-service-signature-base64: *([^\r]*)/i.exec(text.slice(0, headEnd))?.[1];
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  if (length !== undefined) {
    const end = headEnd + 4 + Number(length);
    return text.length < end ? undefined : { method, target, signature, body: text.slice(headEnd + 4, end), end };
  }
  return readChunked(text, method, target, headEnd + 4);
}

function readChunked(text, method, target, start) {
  let body = "";
  for (let at = start; ; ) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (text.length < end) return undefined;
    if (size === 0) return { method, target, body, end };
    body += text.slice(lineEnd + 2, end - 2);
    at = end;
  }
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending = "";
  socket.on("data", (chunk) => {
    // Everything that is sent here is ASCII, so characters are bytes.
    pending += chunk.latin1Slice();
    for (let request = readRequest(pending); request !== undefined; request = readRequest(pending)) {
      pending = pending.slice(request.end);
      socket.write(respond(request));
    }
  });
  socket.on("error", () => socket.destroy());
});

server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on("end", () => process.exit()).resume();
