import type { KnownSurvivor } from "../known-survivor.js";

export const paging: readonly KnownSurvivor[] = [];
