import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type { Pool } from "pg";

/** Who is logged in. Only customers have an account. */
export interface User {
  readonly name: string;
  readonly role: "customer" | "operator";
  readonly account: string | null;
}

export interface Session {
  readonly user: User;
  /** Stands in each form of the user's pages: no other site can know it. */
  readonly formToken: string;
}

/** Names and passwords in the database, and sessions that all processes share. The database knows hashes alone. */
export class Users {
  readonly #pool: Pool;
  readonly #secret: string;

  constructor(pool: Pool, secret: string) {
    this.#pool = pool;
    this.#secret = secret;
  }

  async add({ name, role, account }: User, password: string): Promise<void> {
    await this.#pool.query("insert into users (name, role, account, password) values ($1, $2, $3, $4)", [
      name,
      role,
      account,
      await newHash(password),
    ]);
  }

  /** @returns the new session's id, for its cookie; `undefined` where name or password is wrong. */
  async logIn(name: string, password: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query<{ name: string; password: string }>(
      "select name, password from users where name = lower($1)",
      [name],
    );
    const [user] = rows;
    // Of a name that nobody has, it takes as long.
    const isRight = await isPassword(password, user?.password ?? nobody);
    if (user === undefined || !isRight) return undefined;
    const id = randomBytes(32).toString("base64url");
    await this.#pool.query("delete from sessions where expires_at < now()");
    await this.#pool.query("insert into sessions values ($1, $2, now() + interval '8 hours')", [hashOf(id), user.name]);
    return id;
  }

  async sessionOf(id: string | undefined): Promise<Session | undefined> {
    if (id === undefined) return undefined;
    const { rows } = await this.#pool.query<User>(
      `select name, role, account from sessions join users on name = user_name
       where id_hash = $1 and expires_at > now()`,
      [hashOf(id)],
    );
    const [user] = rows;
    return user && { user, formToken: createHmac("sha256", this.#secret).update(`form ${id}`).digest("hex") };
  }

  async logOut(id: string): Promise<void> {
    await this.#pool.query("delete from sessions where id_hash = $1", [hashOf(id)]);
  }
}

/** Whether two texts are the same, in a time that does not say where they differ. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hashOf(one), hashOf(other));
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

const derive = promisify<string, Buffer, number, { N: number; maxmem: number }, Buffer>(scrypt);
const cost = { N: 2 ** 15, maxmem: 64 * 1024 * 1024 };

async function newHash(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `${salt.toString("hex")}.${(await derive(password, salt, 32, cost)).toString("hex")}`;
}

async function isPassword(password: string, stored: string): Promise<boolean> {
  const [salt = "", hash = ""] = stored.split(".");
  const derived = await derive(password, Buffer.from(salt, "hex"), 32, cost);
  return isSame(derived.toString("hex"), hash);
}

const nobody = `${"00".repeat(16)}.none`;
