import type { NextConfig } from "next";

export default {
  // Loaded by Node, and not bundled: each class of errors is there once.
  serverExternalPackages: ["cross-border-payments", "pg"],
} satisfies NextConfig;
