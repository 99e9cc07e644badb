import { expect, it } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { assertPrimary, isOfOneStatement, isRolledBack, postgresFailure } from "../../src/journals/postgres-failure.js";

const driverError = (code: unknown) => Object.assign(new Error("of CH9300762011623852957"), { code });

/** Codes, what is said of them, what may have been stored, and whether parts of the statement may succeed. */
it.each([
  ["28P01", /user name or the password.*Check both/, "nothing", false],
  ["28000", /doesn't admit this user.*sslmode=verify-full/, "nothing", false],
  ["3D000", /doesn't exist/, "nothing", false],
  ["42P01", /tables are missing.*schema\(\)/, "nothing", true],
  ["42501", /lacks a permission/, "nothing", true],
  ["25006", /read-only/, "nothing", true],
  ["40001", /other transactions were in the way/, "nothing", true],
  ["40003", /other transactions were in the way/, "unknown", false],
  ["53100", /disk is full/, "nothing", true],
  ["53300", /no connections left/, "nothing", false],
  ["53200", /no resources left/, "nothing", true],
  ["57P01", /shutting down or starting/, "unknown", false],
  ["57P02", /shutting down or starting/, "unknown", false],
  ["57P03", /shutting down or starting/, "nothing", false],
  ["57014", /was canceled/, "nothing", true],
  ["58030", /the server failed/, "unknown", false],
  ["XX000", /the server failed/, "unknown", false],
  ["08006", /the connection failed/, "unknown", false],
  ["08P01", /the connection failed/, "unknown", false],
  ["22008", /the database refused/, "nothing", true],
  ["42883", /the database refused/, "nothing", true],
  ["ECONNREFUSED", /nothing listens/, "nothing", false],
  ["ENOTFOUND", /can't be resolved/, "nothing", false],
  ["EHOSTUNREACH", /no route/, "nothing", false],
  ["ENOENT", /a file .* is missing/, "nothing", false],
  ["CERT_HAS_EXPIRED", /not valid/, "nothing", false],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /not trusted/, "nothing", false],
  ["EPIPE", /can't be reached, or did not respond in time/, "unknown", false],
  ["ECONNRESET", /can't be reached, or did not respond in time/, "unknown", false],
])("tells what %s means, without the driver's text", (code, meaning, stored, isOfOne) => {
  const failure = postgresFailure(driverError(code), "read a flow");
  expect(failure).toMatchObject({ name: "JournalError", stored, message: expect.stringMatching(meaning) });
  expect(failure.message).toMatch(new RegExp(`^PostgresJournal could not read a flow: [^(]+ \\(${code}\\)\\.( |$)`));
  expect(failure.cause).toMatchObject({ message: "Error of the database driver", code });
  expect(isOfOneStatement(driverError(code))).toBe(isOfOne);
});

/** Texts of pg that have no code, the code that stands for them, and what may have been stored. */
it.each([
  ["There was an error establishing an SSL connection", "NO_TLS", "nothing"],
  ["timeout exceeded when trying to connect", "TIMEOUT", "nothing"],
  ["Connection terminated due to connection timeout", "TIMEOUT", "nothing"],
  ["Query read timeout", "TIMEOUT", "unknown"],
  ["Connection terminated unexpectedly", "CLOSED", "unknown"],
])("gives the driver's %j the code %s", (text, code, stored) => {
  expect(postgresFailure(new Error(text), "read a flow")).toMatchObject({ stored, cause: { code } });
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
  expect(failure.message).toContain("did not respond in time.");
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
