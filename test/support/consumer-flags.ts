import { join } from "node:path";

/** How a compiler looks at a user's files: strictly, and at the package's types as well, but not at its own libraries. */
export const strictly = [
  ...["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022"],
  ...["--skipLibCheck", "false", "--skipDefaultLibCheck"],
];

/** With the types of Node. */
export const onNode = ["--typeRoots", join(process.cwd(), "node_modules/@types"), "--types", "node"];
