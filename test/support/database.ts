import { randomBytes } from "node:crypto";
import pg from "pg";
import { onTestFinished } from "vitest";

/** The PostgreSQL of the tests, if there is one. */
export const postgresUrl = process.env.CBP_POSTGRES_URL ?? "";

/** Runs a statement over a connection of its own. */
export async function sql(
  statement: string,
  connectionString = postgresUrl,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a database. @returns its address. */
export async function createDatabase(prefix: string, serverUrl = postgresUrl): Promise<string> {
  const url = new URL(serverUrl);
  url.pathname = `/${prefix}_${randomBytes(6).toString("hex")}`;
  await sql(`create database ${url.pathname.slice(1)}`, serverUrl);
  return url.href;
}

/** Drops a database, whoever uses it. */
export async function dropDatabase(url: string, serverUrl = postgresUrl): Promise<void> {
  await sql(`drop database ${new URL(url).pathname.slice(1)} with (force)`, serverUrl);
}

/** A database that is there until the test is over. */
export async function databaseInTest(prefix: string): Promise<string> {
  const url = await createDatabase(prefix);
  onTestFinished(() => dropDatabase(url));
  return url;
}
