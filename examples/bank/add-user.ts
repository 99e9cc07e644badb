/**
 * `node add-user.js olga operator`, or `node add-user.js ada customer ACCOUNT CURRENCY BALANCE`, which opens the account where there is
 * none. The password is the first line of the standard input.
 */
import { text } from "node:stream/consumers";
import pg from "pg";
import { Users } from "./users.js";

const [name = "", role, account, currency, balance] = process.argv.slice(2);
const password = (await text(process.stdin)).split("\n")[0] ?? "";
const isComplete = role === "operator" ? account === undefined : role === "customer" && balance !== undefined;
if (!isComplete || !/^[a-z][\w-]*$/.test(name) || password.length < 12) {
  console.error("usage: add-user.js NAME operator, or NAME customer ACCOUNT CURRENCY BALANCE");
  console.error("NAME is in small letters; the password, on the standard input, has 12 characters or more");
  process.exit(2);
}
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
if (role === "customer") {
  await pool.query("insert into accounts values ($1, $2, $3) on conflict do nothing", [account, currency, balance]);
}
await new Users(pool, "").add(
  { name, role: role === "customer" ? role : "operator", account: account ?? null },
  password,
);
await pool.end();
