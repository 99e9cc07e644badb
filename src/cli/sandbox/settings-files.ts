import { rmdirSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { InvalidArgumentError } from "../../core/errors.js";
import type { SandboxServer } from "../../sandbox/index.js";
import type { Settings } from "../settings.js";
import type { SeededGateway } from "./seed.js";

/** In a folder that a sandbox writes to. A sandbox that was killed leaves it behind. */
const marker = ".cross-border-sandbox";

/** Settings and keys of a sandbox's gateways, as files for this user alone, and only while the sandbox runs. */
export class SettingsFiles implements AsyncDisposable {
  readonly folder: string;
  readonly #written: string[] = [];
  /** Also if the process ends because its output can't be written. */
  readonly #onExit = () => this.#remove();
  /** Whether the folder is removed at the end, too. */
  readonly #isOwn: boolean;

  private constructor(folder: string, isOwn: boolean) {
    this.folder = folder;
    this.#isOwn = isOwn;
    process.once("exit", this.#onExit);
  }

  /**
   * @param folder by default a new temporary one.
   * @throws {InvalidArgumentError} if the folder has files that are not a sandbox's: they may be settings of the real service.
   */
  static async open(folder?: string): Promise<SettingsFiles> {
    const isNew = folder === undefined || (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
    const path = folder === undefined ? await mkdtemp(join(tmpdir(), "cross-border-sandbox-")) : resolve(folder);
    const present = isNew ? [] : await readdir(path);
    if (present.length > 0 && !present.includes(marker)) {
      throw new InvalidArgumentError(
        `${folder} has files that are not a sandbox's, such as ${present[0]}. Choose another folder`,
      );
    }
    const files = new SettingsFiles(path, isNew);
    await files.write(marker, "");
    return files;
  }

  /** @returns the file of the settings. */
  async writeGateway(
    { institutionId: gatewayId, keys }: SeededGateway,
    { clientOptions }: SandboxServer,
  ): Promise<string> {
    const { baseUrl, auth } = clientOptions;
    const { authUrl, realm, clientId, username, password } = auth;
    const signingKey = await this.write(`${gatewayId}.pem`, keys.privateKey);
    const settings: Settings = { baseUrl, authUrl, realm, clientId, username, password, gatewayId, signingKey };
    return this.write(`${gatewayId}.json`, `${JSON.stringify(settings, null, 2)}\n`);
  }

  /** @returns its path. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    // A file of a sandbox that was killed may be there, with other rights.
    rmSync(path, { force: true });
    this.#written.push(path);
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.removeListener("exit", this.#onExit);
    this.#remove();
  }

  /** Removes what was written. Other files, and their folder, stay. */
  #remove(): void {
    for (const path of this.#written) rmSync(path, { force: true });
    if (!this.#isOwn) return;
    try {
      rmdirSync(this.folder);
    } catch {
      // Someone has put something else into it.
    }
  }
}
