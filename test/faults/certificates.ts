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
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const read = (name: string): Identity => ({
    key: readFileSync(at(`${name}.key`), "utf8"),
    cert: readFileSync(at(`${name}.crt`), "utf8"),
  });
  const selfSign = (name: string, ...more: string[]) =>
    openssl("req", "-x509", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.crt`, "-days", "2", ...more);
  const issue = (name: string, host: string, ...dates: string[]): Identity => {
    writeFileSync(at(`${name}.ext`), `subjectAltName=${host}\n`);
    openssl("req", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    const authority = ["-cert", "authority.crt", "-keyfile", "authority.key", "-config", "ca.cnf"];
    openssl(
      "ca",
      "-batch",
      "-notext",
      ...authority,
      "-in",
      `${name}.csr`,
      "-out",
      `${name}.crt`,
      "-extfile",
      `${name}.ext`,
      ...dates,
    );
    return read(name);
  };
  try {
    writeFileSync(at("ca.cnf"), authorityConfig);
    writeFileSync(at("index.txt"), "");
    selfSign("authority", "-subj", "/CN=authority", "-addext", "keyUsage=critical,keyCertSign");
    selfSign("selfSigned", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1");
    return {
      authority: readFileSync(at("authority.crt"), "utf8"),
      good: issue("good", "IP:127.0.0.1", "-days", "2"),
      wrongHost: issue("wrongHost", "DNS:elsewhere.test", "-days", "2"),
      expired: issue("expired", "IP:127.0.0.1", "-startdate", "20200101000000Z", "-enddate", "20210101000000Z"),
      selfSigned: read("selfSigned"),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const authorityConfig = `[ca]
default_ca = one
[one]
database = index.txt
rand_serial = yes
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = dn
[dn]
`;
