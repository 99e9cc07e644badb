/** What messages call a text that is wanted. */
export const certificateInPem = "a certificate in PEM (BEGIN CERTIFICATE)";
export const privateKeyInPem = "a private key in PEM (BEGIN PRIVATE KEY)";
