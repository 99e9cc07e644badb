import type { KnownSurvivor } from "../known-survivor.js";

export const signing: readonly KnownSurvivor[] = [];
