/** What a `content-encoding` names, in the order in which it was applied. None where the body is as it is. */
export function parseContentCodings(header: string | undefined): readonly string[] {
  if (header === undefined) return none;
  return header
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
}

const none: readonly string[] = [];
