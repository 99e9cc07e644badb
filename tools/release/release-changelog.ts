const unreleased = "## Unreleased";

/**
 * The changelog with what is unreleased under a version of its own, below a heading for what comes next.
 *
 * @param date as `2026-01-31`.
 * @throws {Error} where nothing is unreleased, or the version is there already.
 */
export function releaseChangelog(text: string, version: string, date: string): string {
  const start = text.indexOf(`${unreleased}\n`);
  if (start < 0) throw new Error(`CHANGELOG.md has no "${unreleased}"`);
  if (text.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md has ${version} already`);
  const rest = text.slice(start + unreleased.length);
  const [entries = ""] = rest.split(/\n## /);
  if (!/^[-*] /m.test(entries)) throw new Error("nothing is unreleased: CHANGELOG.md says nothing of it");
  return `${text.slice(0, start)}${unreleased}\n\n## ${version} (${date})${rest}`;
}

/**
 * A source with the next version in the place of the current one.
 *
 * @throws {Error} where it has another one.
 */
export function releaseVersion(source: string, current: string, next: string): string {
  const [before, after, ...others] = source.split(JSON.stringify(current));
  if (before === undefined || after === undefined || others.length > 0) {
    throw new Error(`the sources have another version than ${current}, which package.json has`);
  }
  return before + JSON.stringify(next) + after;
}

/** What a version changes, as the changelog has it, without its heading. */
export function changesOf(text: string, version: string): string {
  const [, section] = text.split(new RegExp(`^## ${version.replaceAll(".", "\\.")} .*$`, "m"));
  if (section === undefined) throw new Error(`CHANGELOG.md says nothing of ${version}`);
  return (section.split(/^## /m)[0] ?? "").trim();
}

/**
 * The version that follows: by the part that is to change, or the one that is named.
 *
 * @throws {Error} where it is no version, or not a later one.
 */
export function nextVersion(current: string, wanted: string): string {
  const [major = 0, minor = 0, patch = 0] = current.split(".").map(Number);
  const steps: Readonly<Record<string, readonly number[]>> = {
    major: [major + 1, 0, 0],
    minor: [major, minor + 1, 0],
    patch: [major, minor, patch + 1],
  };
  const next = steps[wanted]?.join(".") ?? wanted;
  if (!/^\d+\.\d+\.\d+$/.test(next))
    throw new Error(`${wanted} is none of major, minor, patch and a version such as 1.2.3`);
  const isLater = next.localeCompare(current, "en", { numeric: true }) > 0;
  if (!isLater) throw new Error(`${next} is not later than ${current}`);
  return next;
}
