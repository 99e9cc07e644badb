/** Day, time, fraction, and zone, as ISO 8601 and SQL print them. */
const pattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * Milliseconds since 1970 of a record's `createdAt`; `NaN` if it can't be read. A time without a zone is UTC. Digits beyond
 * milliseconds are cut off.
 */
export function parseCreatedAt(value: unknown): number {
  if (typeof value !== "string") return Number.NaN;
  const [, day, minute, second = ":00", fraction = "", zone = "Z"] = pattern.exec(value.trim()) ?? [];
  if (day === undefined) return Number.NaN;
  return Date.parse(`${day}T${minute}${second}.${fraction.slice(0, 3).padEnd(3, "0")}${isoZone(zone)}`);
}

/** `+00`, `+0000`, and `UTC` as `Date.parse` takes them. */
function isoZone(zone: string): string {
  const [, hours, minutes = "00"] = /^([+-]\d\d):?(\d\d)?$/.exec(zone) ?? [];
  return hours === undefined ? "Z" : `${hours}:${minutes}`;
}
