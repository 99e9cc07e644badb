import { vi } from "vitest";
import * as errors from "../../src/core/errors.js";

/** The platforms that signing is tested on: Node has all that the web has, too. */
export const platforms = ["node", "web"] as const;

export type PlatformName = (typeof platforms)[number];

/** The modules of signing and verifying, loaded over the given platform. */
export async function signingOn(platform: PlatformName) {
  vi.resetModules();
  vi.doMock("../../src/core/errors.js", () => errors);
  // `#platform` is Node's, unless something else takes its place.
  if (platform === "web") vi.doMock("#platform", () => import("../../src/platform/web.js"));
  const modules = {
    ...(await import("../../src/signing/keys.js")),
    ...(await import("../../src/signing/signer.js")),
    ...(await import("../../src/verification/verify-record.js")),
  };
  vi.doUnmock("../../src/core/errors.js");
  vi.doUnmock("#platform");
  vi.resetModules();
  return modules;
}
