import type { StoredToken, TokenStore } from "../auth/token-store.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, parseOptions } from "../core/parse.js";
import { EncryptedTexts, encryptionKeyOption, type ServerTexts, type TokenEncryptionKey } from "./encrypted-texts.js";

export type { TokenEncryptionKey } from "./encrypted-texts.js";

/** A client, a pool, or a cluster of node-redis (`redis`, `@redis/client`), version 4 or later. Version 4 must not use `useReplicas`. */
export interface NodeRedisLike {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** A client or a cluster of ioredis, version 5 or later. */
export interface IoRedisLike {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Tells ioredis from node-redis. */
  readonly defineCommand: unknown;
}

export interface RedisTokenStoreOptions {
  /**
   * A connected client of node-redis or ioredis. You are responsible for its `error` listener and for closing it. It should fail at once
   * while it isn't connected (`disableOfflineQueue: true`, `enableOfflineQueue: false`).
   */
  readonly redis: NodeRedisLike | IoRedisLike;
  /** 32 random bytes, plain or in Base64. After a change of the key, there is one login. */
  readonly encryptionKey: TokenEncryptionKey;
  /** Begins every key. Default: `cross-border-tokens:`. */
  readonly prefix?: string;
}

/**
 * A token store in Redis 2.6 or later, Valkey, or another server that speaks their protocol and runs scripts. Values are encrypted with
 * AES-256-GCM and bound to their keys.
 */
export class RedisTokenStore implements TokenStore {
  readonly #run: (script: string, key: string, ...values: (string | number)[]) => Promise<unknown>;
  readonly #texts: EncryptedTexts;

  /** @throws {ConfigError} that names the option. */
  constructor(options: RedisTokenStoreOptions) {
    const refuse = (message: string) => new ConfigError(`RedisTokenStore: ${message}`);
    const read = parseOptions<RedisTokenStoreOptions>(redisOptions, options, "the options", refuse);
    const { redis, encryptionKey, prefix = "cross-border-tokens:" } = read;
    this.#run = async (script, key, ...values) => {
      const texts = values.map(String);
      try {
        return "defineCommand" in redis
          ? await redis.eval(script, 1, prefix + key, ...texts)
          : await redis.eval(script, { keys: [prefix + key], arguments: texts });
      } catch (error) {
        // Redis begins its errors with a word, such as NOPERM, which the client shows as the reason.
        const [code] = /^[A-Z]{2,}(?= )/.exec(String(Object(error).message)) ?? [];
        throw code === undefined ? error : Object.assign(new Error(code, { cause: error }), { code });
      }
    };
    const texts: ServerTexts = {
      get: async (key) => ((await this.#run(scripts.get, key)) as string | null) ?? undefined,
      put: async (key, text, ttlMs, expected = "") => (await this.#run(scripts.put, key, expected, text, ttlMs)) === 1,
    };
    this.#texts = new EncryptedTexts(texts, encryptionKey);
  }

  read(key: string): Promise<StoredToken | undefined> {
    return this.#texts.read(key);
  }

  async lock(key: string, owner: string, ms: number): Promise<boolean> {
    return (await this.#run(scripts.lock, `${key}:lock`, owner, ms)) === 1;
  }

  async unlock(key: string, owner: string): Promise<void> {
    await this.#run(scripts.unlock, `${key}:lock`, owner);
  }

  write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    return this.#texts.write(key, value, ttlMs, version);
  }
}

/** Each touches one key, so that they run on clusters. Redis takes whole milliseconds. */
const scripts = {
  get: "return redis.call('GET', KEYS[1])",
  put: `
    if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
    redis.call('SET', KEYS[1], ARGV[2], 'PX', math.ceil(ARGV[3]))
    return 1`,
  lock: `
    local owner = redis.call('GET', KEYS[1])
    if owner and owner ~= ARGV[1] then return 0 end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', math.ceil(ARGV[2]))
    return 1`,
  unlock: "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1",
};

const redisOptions: CheckTable<RedisTokenStoreOptions> = {
  redis: {
    accepts: (value) => isFunction(Reflect.get(Object(value), "eval")),
    expected: "a client of node-redis or ioredis",
    isRequired: true,
  },
  encryptionKey: encryptionKeyOption,
  prefix: { accepts: (value) => typeof value === "string", expected: "a string" },
};
