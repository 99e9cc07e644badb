import { afterEach, expect, it, vi } from "vitest";
import * as node from "../../src/platform/node.js";
import type { Platform } from "../../src/platform/platform.js";
import * as web from "../../src/platform/web.js";
import * as workerd from "../../src/platform/workerd.js";
import { pkcs8, rsaKeyPair, spki } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";

const pair = keyPairOf("gateway");

afterEach(() => vi.unstubAllGlobals());

it("exports the same names for Node, for the web and for Workers", () => {
  expect(Object.keys(web).sort()).toEqual(Object.keys(node).sort());
  expect(Object.keys(workerd).sort()).toEqual(Object.keys(node).sort());
});

it("lets work continue if a runtime has nothing to keep a request open with", async () => {
  const work = Promise.resolve("done");
  workerd.waitUntil?.(work);
  await vi.dynamicImportSettled();
  expect(await work).toBe("done");
});

it.each<Platform>([node, web])(
  "reads the size of a key, and knows a KeyObject from everything else: %#",
  (platform) => {
    const { privateKey, publicKey } = rsaKeyPair(2050);
    const pkcs1 = String(privateKey.export({ type: "pkcs1", format: "pem" }));
    const keys = [
      ...[pkcs8(privateKey), pkcs1].map((pem) => platform.parsePrivatePem(pem)),
      platform.parsePublicPem(spki(publicKey)),
    ];
    expect(keys.map((key) => key.asymmetricKeyDetails?.modulusLength)).toEqual([2050, 2050, 2050]);
    const others = [undefined, null, "", {}, { type: "private", export() {} }, globalThis.crypto];
    expect([pair.privateKey, ...others].filter(platform.isKeyObject)).toEqual([pair.privateKey]);
  },
);

it("says that a page without https has no WebCrypto", () => {
  vi.stubGlobal("crypto", {});
  expect(() => web.importPrivateKey(web.parsePrivatePem(pkcs8(pair.privateKey)))).toThrow(/loaded over https/);
});
