import { clock } from "../core/clock.js";

/** Ties forms to whom they were made for: another site's page has none of theirs, and another user's is none. */
export class FormTokens {
  readonly #key: ReturnType<typeof globalThis.crypto.subtle.importKey>;

  constructor(secret: string) {
    const bytes = new TextEncoder().encode(secret);
    const hmac = { name: "HMAC", hash: "SHA-256" };
    this.#key = globalThis.crypto.subtle.importKey("raw", bytes, hmac, false, ["sign", "verify"]);
    // Whoever makes or checks a token hears of it.
    this.#key.catch(() => {});
  }

  /** For somebody, and for as long as a working day. */
  async make(user: string): Promise<string> {
    const untilMs = String(clock.wallMs() + longestMs);
    const signature = await globalThis.crypto.subtle.sign("HMAC", await this.#key, textOf(user, untilMs));
    return `${untilMs}.${Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  }

  async isValid(token: string, user: string): Promise<boolean> {
    const [, untilMs = "", signature = ""] = /^(\d{1,16})\.([0-9a-f]{64})$/.exec(token) ?? [];
    if (untilMs === "" || Number(untilMs) < clock.wallMs()) return false;
    const bytes = Uint8Array.from(signature.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
    return globalThis.crypto.subtle.verify("HMAC", await this.#key, bytes, textOf(user, untilMs));
  }
}

const longestMs = 10 * 3_600_000;

function textOf(user: string, untilMs: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(["desk", user, untilMs]));
}
