import { basename } from "node:path";
import { explainSignature, hashTitle, type SignatureExplanation } from "../../verification/explain-signature.js";
import { command, exitCodes, UsageError } from "../command.js";
import { readBytes, readText } from "../files.js";
import { wrapped } from "../layout.js";
import { print, printJson, styled, type Terminal } from "../terminal.js";

export const explainSignatureCommand = command({
  name: "explain-signature",
  summary: "Tells why a signature does not fit its request.",
  description:
    "Tries what people sign by mistake: another path, a body written anew, a newline at its end, another key or algorithm, Base64 that was damaged. Nothing is sent.",
  operands: [],
  options: {
    path: { type: "string", value: "PATH", help: "path of the request as it was sent, without host", isRequired: true },
    body: {
      type: "string",
      value: "FILE",
      help: "the body as it was sent, byte for byte; - for stdin",
      isRequired: true,
    },
    signature: { type: "string", value: "TEXT", help: "the header X-SERVICE-SIGNATURE-BASE64" },
    "signature-file": {
      type: "string",
      value: "FILE",
      help: "a file with that header's value, in place of --signature",
    },
    "public-key": {
      type: "string",
      value: "FILE",
      help: "the registered public key: PEM, or Base64 of it",
      isRequired: true,
    },
    "other-key": {
      type: "string",
      multiple: true,
      value: "FILE",
      help: "a public key that may have been used instead; can be repeated",
    },
    "base-path": { type: "string", value: "PATH", help: "what of the path is the service's base path" },
    origin: { type: "string", value: "URL", help: "scheme and host of the service, which some sign too" },
    json: { type: "boolean", help: "as JSON" },
  },
  examples: [
    "explain-signature --path /gateway/v1/payments --body body.json --signature-file signature.txt --public-key registered.pem",
    "explain-signature --path /payments --body - --signature 'MEUCIQ…' --public-key registered.pem --other-key old.pem < body.json",
  ],
  async run({ values }, terminal) {
    const { path, body, signature, "signature-file": file, "public-key": keyFile, "other-key": others = [] } = values;
    const otherKeys = new Map<string, string>();
    for (const other of others) otherKeys.set(basename(other), await readText(other, terminal));
    const explanation = explainSignature({
      path,
      body: await readBytes(body, terminal),
      signature: signature ?? (await signatureOf(file, terminal)),
      publicKey: await readText(keyFile, terminal),
      otherKeys,
      basePath: values["base-path"],
      origin: values.origin,
    });
    if (values.json) printJson(terminal, explanation);
    else show(explanation, terminal);
    return explanation.isValid ? exitCodes.done : exitCodes.refuted;
  },
});

async function signatureOf(file: string | undefined, terminal: Terminal): Promise<string> {
  if (file === undefined) throw new UsageError("--signature TEXT or --signature-file FILE is missing");
  const text = Buffer.from(await readBytes(file, terminal)).toString("utf8");
  return text.replace(/\r?\n$/, "");
}

function show({ isValid, findings, wantedDigest, found, fingerprint }: SignatureExplanation, terminal: Terminal): void {
  const { width } = terminal;
  if (isValid) {
    const right =
      "The signature is right: RSA, SHA-256 and PKCS#1 v1.5, over this path and body. Whoever refused it saw others, or has another key.";
    print(terminal, ...wrapped(styled(terminal, "green", right), width));
  } else {
    print(terminal, styled(terminal, "red", "The signature is wrong:"), "");
    for (const { aspect, problem, remedy } of findings) {
      const name = styled(terminal, "bold", `${aspect}:`);
      print(terminal, ...wrapped(`  ${name} ${problem}`, width, 4));
      print(terminal, ...wrapped(`    ${styled(terminal, "dim", "→")} ${remedy}`, width, 6), "");
    }
  }
  const digests: (readonly [name: string, digest: string])[] = [
    ["registered key, SHA-256 of its DER form:", fingerprint],
    ["bytes to be signed, their SHA-256:", wantedDigest],
    ...(found === undefined || isValid
      ? []
      : [["what the signature holds:", `${found.digest} (${hashTitle(found.hash)})`] as const]),
  ];
  for (const [name, digest] of digests) print(terminal, ...beside(name, digest, width));
}

/** Digests stand one beneath the other, so that they can be compared. */
function beside(name: string, digest: string, width = Number.POSITIVE_INFINITY): string[] {
  const line = `${name.padEnd(41)} ${digest}`;
  return line.length <= width ? [line] : [name, ...wrapped(`  ${digest}`, width, 2)];
}
