/** `node:crypto`, loaded with the first key, signature or hash: a fifth of the time that the import of the client would take. */
export function nodeCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}
