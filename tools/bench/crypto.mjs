/** Loaded by those alone that need it: it would stand in the way of the others' cold start. */
export const nodeCrypto = () => process.getBuiltinModule("node:crypto");

export const makeSigningKey = () => nodeCrypto().generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
