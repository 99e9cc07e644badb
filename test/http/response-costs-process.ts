/** Reads one large response, and prints what it cost besides `JSON.parse`. Started by `response-costs.test.ts` with a limited heap. */
import { ApiError } from "../../src/core/errors.js";
import { toError } from "../../src/http/call-error.js";
import { readResponse } from "../../src/http/read-response.js";
import { SchemaLoader } from "../../src/http/schema.js";
import { payments } from "../../src/resources/payments.js";
import type { WireResponse } from "../../src/wire/transport.js";
import { type ResponseShape, responseText } from "./response-shapes.js";

const [shape = "records", task = "parse"] = process.argv.slice(2);
const text = responseText(shape as ResponseShape);
const startOfParse = process.cpuUsage();
const parsed: unknown = JSON.parse(text);
const parseMs = cpuMsSince(startOfParse);

if (task === "parse") {
  globalThis.gc?.();
  console.log(JSON.stringify({ heapBytes: process.memoryUsage().heapUsed }));
} else {
  const schemas = await new SchemaLoader().load();
  const status = task === "refusal" ? 400 : 200;
  const response: WireResponse = { status, headers: { "x-request-id": text.slice(0, 200) }, text };
  JSON.parse = () => parsed;
  const times: number[] = [];
  let found = 0;
  for (let run = 0; run < 5; run++) {
    const start = process.cpuUsage();
    const { outcome, mismatches } = readResponse(payments.list, {}, response, "report", schemas);
    if (!("data" in outcome)) {
      const error = toError(outcome, {
        operation: payments.list,
        kind: "read",
        origin: "https://service.test",
        basePath: "",
        isSent: true,
        attempts: 1,
        effect: "none",
        request: { path: "/payments", body: "" },
        secrets: ["token-12345678", "DE89370400440532013000", "Erika Sender"],
      });
      if (error instanceof ApiError) found = error.serviceMessage?.length ?? 0;
    }
    times.push(cpuMsSince(start));
    found += mismatches.length;
  }
  console.log(JSON.stringify({ parseMs, blockedMs: Math.min(...times), found }));
}

/** Of the processor: how long other processes have it does not count. */
function cpuMsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
