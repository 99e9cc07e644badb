/** What the command and a program need to know in order to call the service. */
export interface Settings {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly realm: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly username: string;
  readonly password: string;
  /** The gateway's own id: its `institutionId`. */
  readonly gatewayId?: string;
  /** The file of the private key. */
  readonly signingKey?: string;
  /** The file of the authorities to trust. */
  readonly ca?: string;
  /** For mutual TLS: the file of this side's certificate, and that of its private key. */
  readonly cert?: string;
  readonly key?: string;
  /** `http://` or `https://` of the proxy that leads to the service, which may hold a user and a password. */
  readonly proxy?: string;
  /** Hosts that are reached without it, with commas between them. */
  readonly noProxy?: string;
  /** How many people a decision about a flow takes: `1` or `2`. */
  readonly people?: string;
  /** The journal of flows: a file, or a `postgresql:` URL, which may hold a password. */
  readonly journal?: string;
}

export type SettingName = keyof Settings;

/** How a client logs in by them. */
export function authOf({ authUrl, realm, clientId, clientSecret, username, password }: Settings) {
  return { authUrl, realm, clientId, username, password, ...(clientSecret !== undefined && { clientSecret }) };
}

export interface Setting {
  readonly help: string;
  readonly isRequired?: true;
  /** Never from the command line, which others can see. */
  readonly isSecret?: true;
  /** A path; one that is relative, in a settings file, is relative to the folder of that file. */
  readonly isPath?: true;
}

/** Every setting, in the order of the help and of docs/command.md. */
export const settingTable: Readonly<Record<SettingName, Setting>> = {
  baseUrl: { help: "address of the service, base path included", isRequired: true },
  authUrl: { help: "address of the identity provider: what stands before /auth/realms", isRequired: true },
  realm: { help: "its realm", isRequired: true },
  clientId: { help: "the client at the identity provider", isRequired: true },
  clientSecret: { help: "its secret", isSecret: true },
  username: { help: "the user that was issued at onboarding", isRequired: true },
  password: { help: "its password", isRequired: true, isSecret: true },
  gatewayId: { help: "the gateway's own id (institutionId)" },
  signingKey: { help: "file of the private key, PEM", isPath: true },
  ca: { help: "file of the certificates to trust, PEM, in place of the well-known ones", isPath: true },
  cert: { help: "file of this side's certificate for mutual TLS, PEM; goes with key", isPath: true },
  key: { help: "file of the private key of cert, PEM", isPath: true },
  proxy: { help: "http:// or https:// of the proxy; a password in it comes from the variable or the file only" },
  noProxy: { help: "hosts that are reached without the proxy, with commas between them" },
  people: { help: "how many people a decision about a flow takes: 1 or 2", isSecret: true },
  journal: { help: "the journal of flows: a SQLite file, or a postgresql:// URL", isSecret: true },
};

export const settingNames = Object.keys(settingTable) as SettingName[];

/** `CROSS_BORDER_BASE_URL` of `baseUrl`. */
export function variableOf(name: SettingName): string {
  return `CROSS_BORDER_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
