import { rmdirSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { InvalidArgumentError } from "../../core/errors.js";
import type { SandboxServer } from "../../sandbox/index.js";
import type { Settings } from "../settings.js";
import type { SeededGateway } from "./seed.js";

/** Settings and keys of a sandbox's gateways, as files for this user alone, and only while the sandbox runs. */
export class SettingsFiles implements AsyncDisposable {
  readonly folder: string;
  readonly #written: string[] = [];
  /** However the process ends, but for a kill: output that can't be written ends it at once. */
  readonly #onExit = () => this.#removeNow();
  /** Whether the folder is gone as well in the end. */
  readonly #isOwn: boolean;

  private constructor(folder: string, isOwn: boolean) {
    this.folder = folder;
    this.#isOwn = isOwn;
    process.once("exit", this.#onExit);
  }

  /**
   * @param folder where they go; a new one among the temporary files unless given.
   * @throws {InvalidArgumentError} where the folder has files already: they may be settings of the service itself.
   */
  static async open(folder: string | undefined): Promise<SettingsFiles> {
    if (folder === undefined) return new SettingsFiles(await mkdtemp(join(tmpdir(), "cross-border-sandbox-")), true);
    const isOwn = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
    if ((await readdir(folder)).length > 0) {
      throw new InvalidArgumentError(`${folder} has files already: choose a folder that is empty or not there yet`);
    }
    return new SettingsFiles(resolve(folder), isOwn);
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
    this.#written.push(path);
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return path;
  }

  /** Removes what was written. What somebody else put beside it stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    process.removeListener("exit", this.#onExit);
    this.#removeNow();
  }

  #removeNow(): void {
    for (const path of this.#written) rmSync(path, { force: true });
    if (!this.#isOwn) return;
    try {
      rmdirSync(this.folder);
    } catch {
      // Somebody has put something beside it.
    }
  }
}
