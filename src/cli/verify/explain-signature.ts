import { basename } from "node:path";
import type { Command } from "commander";
import { explainSignature, hashTitle, type SignatureExplanation } from "../../verification/explain-signature.js";
import { action, collect, examples } from "../options.js";
import { readBytes, readText } from "../settings.js";
import { Exit, exitCodes, print, printJson, rows, styled, type Terminal, UsageError, wrapped } from "../terminal.js";

interface ExplainOptions {
  readonly path: string;
  readonly body: string;
  readonly signature?: string;
  readonly signatureFile?: string;
  readonly publicKey: string;
  readonly otherKey?: readonly string[];
  readonly basePath?: string;
  readonly origin?: string;
  readonly json?: true;
}

export function addExplainSignature(program: Command, terminal: Terminal): void {
  const command = program
    .command("explain-signature")
    .helpGroup("Diagnose:")
    .summary("find out why a signature is wrong")
    .description(
      "Tries what people sign by mistake: another path, a body written again, a newline at its end, another key or algorithm, damaged Base64. Nothing is sent.",
    )
    .requiredOption("--path <path>", "path of the request as it was sent, without host")
    .requiredOption("--body <file>", "the body as it was sent, byte for byte; - for stdin")
    .option("--signature <text>", "the header X-SERVICE-SIGNATURE-BASE64")
    .option("--signature-file <file>", "a file with that header's value")
    .requiredOption("--public-key <file>", "the registered public key: PEM, or Base64 of it")
    .option("--other-key <file>", "a public key that may have been used instead; can be repeated", collect)
    .option("--base-path <path>", "the service's base path, part of --path")
    .option("--origin <url>", "scheme and host of the service, which some sign, too")
    .option("--json", "print JSON")
    .action(action(terminal, explain));
  examples(
    command,
    "explain-signature --path /gateway/v1/payments --body body.json --signature-file signature.txt --public-key registered.pem",
  );
}

async function explain(options: ExplainOptions, terminal: Terminal): Promise<void> {
  const { path, body, publicKey, otherKey = [], basePath, origin, json } = options;
  const otherKeys = new Map<string, string>();
  for (const file of otherKey) otherKeys.set(basename(file), await readText(file, terminal));
  const explanation = explainSignature({
    ...{ path, otherKeys, basePath, origin },
    body: await readBytes(body, terminal),
    signature: await signatureOf(options, terminal),
    publicKey: await readText(publicKey, terminal),
  });
  if (json) printJson(terminal, explanation);
  else show(explanation, terminal);
  if (!explanation.isValid) throw new Exit(exitCodes.checkFailed);
}

async function signatureOf({ signature, signatureFile: file }: ExplainOptions, terminal: Terminal): Promise<string> {
  if (signature !== undefined) return signature;
  if (file === undefined) throw new UsageError("--signature <text> or --signature-file <file> is missing");
  const text = Buffer.from(await readBytes(file, terminal)).toString("utf8");
  return text.replace(/\r?\n$/, "");
}

function show({ isValid, findings, wantedDigest, found, fingerprint }: SignatureExplanation, terminal: Terminal): void {
  const { width } = terminal;
  if (isValid) {
    const right = "The signature is valid: RSA, SHA-256, and PKCS#1 v1.5 over this path and body.";
    const then = " If the service refused it, it received another path or body, or has another key.";
    print(terminal, wrapped(styled(terminal, "green", right + then), width));
  } else print(terminal, styled(terminal, "red", "The signature is wrong:"), "");
  for (const { aspect, problem, remedy } of findings) {
    print(terminal, wrapped(`${styled(terminal, "bold", `${aspect}:`)} ${problem}`, width));
    print(terminal, wrapped(`→ ${remedy}`, width), "");
  }
  const digests: Record<string, string> = {
    "registered key, SHA-256 of its DER form:": fingerprint,
    "bytes to be signed, their SHA-256:": wantedDigest,
    ...(found && !isValid && { "what the signature holds:": `${found.digest} (${hashTitle(found.hash)})` }),
  };
  print(terminal, rows(Object.entries(digests), width));
}
