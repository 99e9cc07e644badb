import type { KnownSurvivor } from "./known-survivor.js";
import { auth } from "./known-survivors/auth.js";
import { cliLists } from "./known-survivors/cli-lists.js";
import { errors } from "./known-survivors/errors.js";
import { http } from "./known-survivors/http.js";
import { journals } from "./known-survivors/journals.js";
import { login } from "./known-survivors/login.js";
import { paging } from "./known-survivors/paging.js";
import { signing } from "./known-survivors/signing.js";
import { tokens } from "./known-survivors/tokens.js";
import { verification } from "./known-survivors/verification.js";
import { wire } from "./known-survivors/wire.js";

export const knownSurvivors: readonly KnownSurvivor[] = [
  ...auth,
  ...cliLists,
  ...errors,
  ...http,
  ...journals,
  ...login,
  ...paging,
  ...signing,
  ...tokens,
  ...verification,
  ...wire,
];
