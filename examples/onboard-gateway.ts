/** Makes a gateway's key pair, registers the gateway, and shows that the service verifies its signatures with that key. */
import { CrossBorderClient, generateSigningKeyPair, signRequest, verifySignature } from "cross-border-payments";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
await using client = new CrossBorderClient(practice.options);

// The private key belongs in your secret store and nowhere else; only the public key is sent.
const keys = await generateSigningKeyPair();
const gateway = await client.paymentGateways.create({
  institutionId: "gamma-wallet",
  name: "Gamma Wallet",
  countryCode: "TZ",
  currency: "TZS",
  email: "ops@gamma.example",
  website: "https://gamma.example",
  rsaPublicKeyBase64: keys.publicKeyBase64,
});
console.log(`registered ${gateway.institutionId} as ${gateway.id}`);

// The name changes: every field of the record is sent again, since the effect of leaving one out is not described.
const { id, ...fields } = await client.paymentGateways.get(gateway.id);
await client.paymentGateways.update(id, { ...fields, name: "Gamma Wallet Ltd" });
console.log(`renamed to ${(await client.paymentGateways.get(id)).name}`);

const text = { path: "/payments", body: '{"memo":"trial"}' };
const signature = await signRequest({ ...text, key: keys.privateKey });
const fits = await verifySignature({ ...text, signature, publicKey: gateway.rsaPublicKeyBase64 });
console.log(`a signature of the private key fits the registered public key: ${fits}`);
