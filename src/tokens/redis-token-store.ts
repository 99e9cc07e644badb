import type { StoredToken, TokenStore } from "../auth/token-store.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, parseOptions } from "../core/parse.js";
import { EncryptedTexts } from "./encrypted-texts.js";
import { maxStoredLength, type TokenEncryptionKey } from "./token-cipher.js";

export type { TokenEncryptionKey } from "./token-cipher.js";

/** What the store needs of a client, a pool or a cluster of node-redis (`redis`, `@redis/client`), version 4 or later; of 4 without `useReplicas`. */
export interface NodeRedisLike {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** What it needs of a client or a cluster of ioredis, version 5 or later. */
export interface IoRedisLike {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Tells ioredis from node-redis. */
  readonly defineCommand: unknown;
}

export interface RedisTokenStoreOptions {
  /**
   * A connected client of node-redis or ioredis. The caller remains responsible for it: its `error` listener, and closing it. Let it
   * fail at once while it is not connected (`disableOfflineQueue: true`, `enableOfflineQueue: false`).
   */
  readonly redis: NodeRedisLike | IoRedisLike;
  /** 32 random bytes, as they are or in Base64. Where it is another one than that of a stored session, there is one login. */
  readonly encryptionKey: TokenEncryptionKey;
  /** Begins every key. Default: `cross-border-tokens:`. */
  readonly prefix?: string;
}

/**
 * A token store in Redis 2.6 or later, Valkey, or what speaks their protocol and runs scripts. Values are encrypted with AES-256-GCM and
 * bound to their keys.
 */
export class RedisTokenStore implements TokenStore {
  readonly #run: (script: string, key: string, ...values: string[]) => Promise<unknown>;
  readonly #texts: EncryptedTexts;

  /** @throws {ConfigError} an option is not what is described. */
  constructor(options: RedisTokenStoreOptions) {
    const refuse = (message: string) => new ConfigError(`RedisTokenStore: ${message}`);
    // Of their types when the table has accepted them.
    const read = parseOptions(redisOptions, options, "the options", refuse) as unknown as RedisTokenStoreOptions;
    const { redis, encryptionKey, prefix = "cross-border-tokens:" } = read;
    const evaluate = evaluateOn(redis);
    this.#run = async (script, key, ...values) => {
      try {
        const reply = await evaluate(script, prefix + key, values);
        if (isReply(reply)) return reply;
      } catch (error) {
        const message = String(Object(error).message);
        // Redis begins its errors with a word, such as NOPERM, which the client shows as the reason.
        const [code] = /^[A-Z]{2,}(?= )/.exec(message) ?? [];
        throw code === undefined ? error : Object.assign(new Error(message, { cause: error }), { code });
      }
      throw refuse("redis.eval must return Redis' reply, as the `v4` of a node-redis 4 in legacy mode does");
    };
    const texts = {
      get: async (key: string) => toText(await this.#run(scripts.get, key)),
      put: async (key: string, text: string, ttlMs: number, expected = "") =>
        isOne(await this.#run(scripts.put, key, expected, text, toMs(ttlMs))),
    };
    this.#texts = new EncryptedTexts(texts, encryptionKey, "RedisTokenStore");
  }

  read(key: string): Promise<StoredToken | undefined> {
    return this.#texts.read(key);
  }

  async lock(key: string, owner: string, ms: number): Promise<boolean> {
    return isOne(await this.#run(scripts.lock, lockOf(key), owner, toMs(ms)));
  }

  async unlock(key: string, owner: string): Promise<void> {
    await this.#run(scripts.unlock, lockOf(key), owner);
  }

  write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    return this.#texts.write(key, value, ttlMs, version);
  }
}

/** Each touches one key, so that they run on clusters. */
const scripts = {
  get: `
    if redis.call('STRLEN', KEYS[1]) > ${maxStoredLength} then return false end
    return redis.call('GET', KEYS[1])`,
  put: `
    local isReadable = redis.call('STRLEN', KEYS[1]) <= ${maxStoredLength}
    if (isReadable and redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
    return 1`,
  lock: `
    local owner = redis.call('GET', KEYS[1])
    if owner and owner ~= ARGV[1] then return 0 end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1`,
  unlock: "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1",
};

function lockOf(key: string): string {
  return `${key}:lock`;
}

/** Redis takes whole milliseconds above 0. */
function toMs(ms: number): string {
  return String(Math.max(1, Math.ceil(ms)));
}

/** Taken for a no, what a client returns that tells the reply to a callback would keep processes waiting for a lock that nobody has. */
function isReply(value: unknown): boolean {
  return value === null || value instanceof Uint8Array || ["string", "number", "bigint"].includes(typeof value);
}

/** Clients can be set to give numbers as texts, such as ioredis by `stringNumbers`. */
function isOne(reply: unknown): boolean {
  return String(reply) === "1";
}

/** Clients can be set to give texts as bytes. */
function toText(reply: unknown): string | undefined {
  const text = reply instanceof Uint8Array ? new TextDecoder().decode(reply) : reply;
  return typeof text === "string" ? text : undefined;
}

const redisOptions: CheckTable<RedisTokenStoreOptions> = {
  redis: {
    accepts: (value) => typeof value === "object" && value !== null && isFunction(Reflect.get(value, "eval")),
    wanted: "a client of node-redis or ioredis",
    isRequired: true,
  },
  // `TokenCipher` checks it.
  encryptionKey: { accepts: () => true, wanted: "a key" },
  prefix: { accepts: (value) => typeof value === "string", wanted: "a string" },
};

type Evaluate = (script: string, key: string, values: string[]) => Promise<unknown>;

function evaluateOn(redis: NodeRedisLike | IoRedisLike): Evaluate {
  if (isIoRedis(redis)) return (script, key, values) => redis.eval(script, 1, key, ...values);
  return (script, key, values) => redis.eval(script, { keys: [key], arguments: values });
}

function isIoRedis(redis: NodeRedisLike | IoRedisLike): redis is IoRedisLike {
  return "defineCommand" in redis;
}
