import { expect, it } from "vitest";
import { ConfigError } from "../../src/errors/errors.js";
import { assertPrimary, isOfOneStatement, isRolledBack, postgresFailure } from "../../src/journals/postgres-failure.js";

const driverError = (code: unknown) => Object.assign(new Error("of CH9300762011623852957"), { code });

/** Codes, what is said of them, what may have been stored, and whether parts of the statement may succeed. */
it.each([
  ["28P01", "the database refused the login", "nothing", false],
  ["3D000", "there is no such database", "nothing", false],
  ["42P01", "its tables are missing", "nothing", true],
  ["42501", "the database user lacks a permission", "nothing", true],
  ["25006", "the server is read-only, such as a standby", "nothing", true],
  ["40001", "other transactions were in the way", "nothing", true],
  ["40003", "other transactions were in the way", "unknown", false],
  ["53100", "the server's disk is full", "nothing", true],
  ["53300", "the server has no resources left", "nothing", false],
  ["57P01", "the server is shutting down or starting", "unknown", false],
  ["57P02", "the server is shutting down or starting", "unknown", false],
  ["57P03", "the server is shutting down or starting", "nothing", false],
  ["57014", "the statement was cancelled", "nothing", true],
  ["58030", "the server failed", "unknown", false],
  ["XX000", "the server failed", "unknown", false],
  ["08006", "the connection failed, or a pooler refused: its log says why", "unknown", false],
  ["08P01", "the connection failed, or a pooler refused: its log says why", "unknown", false],
  ["22008", "the database refused", "nothing", true],
  ["42883", "the database refused", "nothing", true],
  ["ECONNREFUSED", "the database can't be reached, or did not respond in time", "nothing", false],
  ["EPIPE", "the database can't be reached, or did not respond in time", "unknown", false],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "the database can't be reached, or did not respond in time", "unknown", false],
  ["ECONNRESET", "the database can't be reached, or did not respond in time", "unknown", false],
])("tells what %s means, without the driver's text", (code, meaning, stored, isOfOne) => {
  const failure = postgresFailure(driverError(code), "read a flow");
  expect(failure).toMatchObject({ name: "JournalError", stored });
  expect(failure.message).toBe(`PostgresJournal could not read a flow: ${meaning} (${code}).`);
  expect(failure.cause).toMatchObject({ message: "Error of the database driver", code });
  expect(isOfOneStatement(driverError(code))).toBe(isOfOne);
});

it.each([
  ["ERROR", "nothing"],
  ["FATAL", "nothing"],
  ["PANIC", "unknown"],
  ["PANIK", "unknown"],
  // Words of other languages that hold one of these, of which nobody knows what they say.
  ["ERRORE", "unknown"],
  ["NON FATAL", "unknown"],
])("knows by the severity %s whether a server ended within the commit: %s was stored", (severity, stored) => {
  for (const code of ["53100", "53200", "53000", "42501"]) {
    const thrown = Object.assign(driverError(code), { severity });
    expect(postgresFailure(thrown, "store a state")).toMatchObject({ stored });
    expect(isOfOneStatement(thrown)).toBe(stored === "nothing");
  }
  for (const code of ["23514", "22530"]) {
    const inGerman = Object.assign(driverError(code), { severity: "FEHLER" });
    expect(postgresFailure(inGerman, "store a state")).toMatchObject({ stored: "nothing" });
  }
});

it.each([
  ["a text", "no connection", "string of the database driver"],
  ["an error without a code", new TypeError("no connection"), "TypeError of the database driver"],
  ["nothing", null, "object of the database driver"],
  ["an error with another code", driverError(7), "Error of the database driver"],
  ["errors of no address", Object.assign(new Error(""), { errors: [] }), "Error of the database driver"],
])("takes %s for a statement whose end is not known", (_, thrown, message) => {
  const failure = postgresFailure(thrown, "read a flow");
  expect(failure).toMatchObject({ stored: "unknown", cause: { message } });
  expect(failure.message).toMatch(/did not respond in time\.$/);
  expect(failure.cause).not.toHaveProperty("code");
  expect(isOfOneStatement(thrown)).toBe(false);
});

it("reads the code of a host name's addresses, of which none responded", () => {
  const thrown = Object.assign(new Error(""), { errors: [driverError("ECONNREFUSED"), driverError("ETIMEDOUT")] });
  expect(postgresFailure(thrown, "read a flow")).toMatchObject({ stored: "nothing", cause: { code: "ECONNREFUSED" } });
});

it("leaves the library's own errors as they are", () => {
  const own = new ConfigError("mine");
  expect(postgresFailure(own, "read a flow")).toBe(own);
});

it("tries again what was rolled back in favour of others, and nothing else", () => {
  const codes = ["40001", "40P01", "40003", "40002", "57014", undefined];
  expect(codes.map((code) => isRolledBack(driverError(code)))).toEqual([true, true, false, false, false, false]);
});

it("refuses what a server in recovery has read, and nothing else", () => {
  expect(() => assertPrimary({ is_replica: "1" }, "read a flow")).toThrow(
    expect.objectContaining({
      code: "journal_replica",
      message: expect.stringMatching(/^PostgresJournal could not read a flow: a server in recovery .*to the primary/),
    }),
  );
  for (const row of [undefined, {}, { is_replica: 0 }, { is_replica: "0" }]) assertPrimary(row, "read a flow");
});
