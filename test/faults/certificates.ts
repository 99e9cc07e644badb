import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A key and its certificate, both PEM. */
export interface Identity {
  readonly key: string;
  readonly cert: string;
}

export interface Certificates {
  /** The authority that signed all but `selfSigned`. */
  readonly authority: string;
  /** For 127.0.0.1. */
  readonly good: Identity;
  /** For another host. */
  readonly wrongHost: Identity;
  /** For 127.0.0.1, until last year. */
  readonly expired: Identity;
  /** For 127.0.0.1, by nobody. */
  readonly selfSigned: Identity;
}

let made: Certificates | undefined;

/** Made by OpenSSL at run time, in a folder that is gone afterwards. */
export function certificates(): Certificates {
  made ??= make();
  return made;
}

function make(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const signed = (name: string, extension: string, ...more: string[]): Identity => {
    const files = ["-keyout", `${name}.key`, "-out", `${name}.crt`, "-days", "2", "-subj", `/CN=${name}`];
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    openssl("req", "-x509", ...key, ...files, "-addext", extension, ...more);
    return { key: readFileSync(at(`${name}.key`), "utf8"), cert: readFileSync(at(`${name}.crt`), "utf8") };
  };
  const issuer = ["-CA", "authority.crt", "-CAkey", "authority.key"];
  const leaf = [...issuer, "-addext", "basicConstraints=CA:FALSE"];
  const host = "subjectAltName=IP:127.0.0.1";
  try {
    const authority = signed("authority", "keyUsage=critical,keyCertSign");
    const selfSigned = signed("selfSigned", host);
    writeFileSync(at("host.ext"), host);
    const renewal = ["-days", "-1", "-clrext", "-extfile", "host.ext", "-out", "expired.crt"];
    openssl("x509", "-in", "selfSigned.crt", ...renewal, ...issuer, "-CAcreateserial");
    return {
      authority: authority.cert,
      good: signed("good", host, ...leaf),
      wrongHost: signed("wrongHost", "subjectAltName=DNS:elsewhere.test", ...leaf),
      expired: { ...selfSigned, cert: readFileSync(at("expired.crt"), "utf8") },
      selfSigned,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
