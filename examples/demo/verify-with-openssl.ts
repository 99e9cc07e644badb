import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Payment } from "cross-border-payments";

/** What the `openssl` command says of a stored payment's signature; `undefined` if there is no such command. */
export function verifyWithOpenssl(payment: Payment): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-demo-"));
  try {
    const file = (name: string, content: Buffer) => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    };
    const key = file("public.pem", Buffer.from(payment.creationRequestPublicKeyBase64, "base64"));
    const signature = file("signature", Buffer.from(payment.creationRequestSignatureBase64, "base64"));
    const text = file("text", Buffer.from(payment.creationRequestUrl + payment.creationRequestBody));
    const run = spawnSync("openssl", ["dgst", "-sha256", "-verify", key, "-signature", signature, text]);
    return run.error === undefined ? `${run.stdout}${run.stderr}`.trim() : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
