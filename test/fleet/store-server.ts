import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export type StoreKind = "redis" | "postgres";

/** A server for a token store, of its own, so that it can be taken away from the processes that use it. */
export interface StoreServer extends AsyncDisposable {
  readonly url: string;
  /** Its processes stand still: connections stay open, and nobody answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Shuts it down at once, with all connections. */
  crash(): Promise<void>;
  restart(): Promise<void>;
  /** Deletes all sessions and locks. */
  wipe(): Promise<void>;
  /** Overwrites all sessions with what nobody can read. */
  fillWithRubbish(): Promise<void>;
}

export async function startStoreServer(kind: StoreKind): Promise<StoreServer> {
  // Directly under /tmp: the socket of a database server needs a short path.
  const folder = `/tmp/cbp-${kind}-${randomUUID().slice(0, 8)}`;
  const script = fileURLToPath(new URL(`../support/${kind}.sh`, import.meta.url));
  const run = async (action: string, ...more: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)("bash", [script, action, folder, ...more]);
    return stdout.trim();
  };
  const url = await run("start");
  const change = kind === "redis" ? changeRedis : changePostgres;
  return {
    url,
    pause: async () => void (await run("signal", "STOP")),
    resume: async () => void (await run("signal", "CONT")),
    crash: async () => void (await run("signal", kind === "redis" ? "KILL" : "QUIT")),
    restart: async () => void (await run("restart")),
    wipe: () => change(url, "wipe"),
    fillWithRubbish: () => change(url, "fill"),
    async [Symbol.asyncDispose]() {
      await run("stop");
    },
  };
}

async function changeRedis(url: string, change: "wipe" | "fill"): Promise<void> {
  const { Redis } = await import("ioredis");
  const redis = new Redis(url);
  try {
    if (change === "wipe") return void (await redis.flushall());
    const keys = (await redis.keys("cross-border-tokens:*")).filter((key) => !key.endsWith(":lock"));
    if (keys.length === 0) throw new Error("there is no session to overwrite");
    for (const key of keys) await redis.set(key, randomUUID(), "KEEPTTL");
  } finally {
    redis.disconnect();
  }
}

async function changePostgres(url: string, change: "wipe" | "fill"): Promise<void> {
  const { Client } = (await import("pg")).default;
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    if (change === "wipe") return void (await client.query("DELETE FROM public.cross_border_tokens"));
    const text = "UPDATE public.cross_border_tokens SET value = $1 WHERE value IS NOT NULL";
    const { rowCount } = await client.query(text, [randomUUID()]);
    if (rowCount === 0) throw new Error("there is no session to overwrite");
  } finally {
    await client.end();
  }
}
