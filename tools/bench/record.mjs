/** Digits of an id and of a paging token: fixed, so that a page can be stamped in place. */
export const tokenDigits = 12;

export const token = (number) => String(number).padStart(tokenDigits, "0");

/** What a caller posts to create a payment intent. */
export const intentRequest = {
  senderGatewayId: "northern-bank",
  senderCurrency: "EUR",
  senderAccount: "EE382200221020145685",
  receiverGatewayId: "southern-bank",
  receiverAccount: "KE-0110-2233445566",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  memo: "invoice 2024-117, second part",
};

/** What the service adds to it. */
const quoted = {
  senderAmount: "104.17",
  senderName: "Signe Tamm",
  receiverName: "Otieno Odhiambo",
  receivingGatewayFee: "25.00",
};

/** What a caller posts to create a payment. */
export const paymentRequest = { ...intentRequest, ...quoted, senderGatewayTransactionId: "tx-9F2C71A0" };

/** A payment of the description's 31 fields, and one that the description does not have: 32. */
export const record = (number) => ({
  id: token(number),
  createdAt: "2024-05-17T09:31:22.518043Z",
  updatedAt: "2024-05-17T09:31:22.518043Z",
  pagingToken: token(number),
  ...paymentRequest,
  receiverProcessingGatewayId: "southern-bank",
  receiverGatewayTransactionId: "",
  senderGatewayStatus: "processed",
  receiverGatewayStatus: "pending",
  senderGatewayPublicKey: "GB4RX7N3V2QDCW6T5MYKJ2LZSOE7UHPAI4FBXG3NQ5W6RTYD2KCMEJVO",
  receiverGatewayPublicKey: "GDK5M2QWYX7NTR4ZVB6CJEPLSHA3UOIFG2XQ7DMN4KRT6WYBCEJZVLSP",
  senderGatewaySignature: "mJ3fQ0xWkV7cYb1pLr8sHnTz5uAeGd2o",
  receiverGatewaySignature: "",
  blockchainTransactionId: "5f1d9c0e7b3a48626f0a9d5c41e7b8830c2f6d94ab17e35b",
  creationRequestUrl: "/payments",
  creationRequestBody: '{"senderGatewayId":"northern-bank","senderAmount":"104.17"}',
  creationRequestPublicKeyBase64: "LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUlJQklqQU5CZ2txaGtpRzl3MEI=",
  creationRequestSignatureBase64: "k1Vt8cXo2bWq5hZr9nYe4mLs7dPf0gJaQx3uTiEy6wBvRzCo",
  extras: null,
  channel: "api",
});

/** The fields of an answer to a creation that the caller did not send. */
export const added = Object.fromEntries(Object.entries(record(1)).filter(([name]) => !(name in paymentRequest)));

/** What an intent's answer has beside the fields that were sent. */
export const addedToIntent = { id: token(1), ...quoted, extras: null };

/** An intent as the description has it. */
export const intent = { ...addedToIntent, ...intentRequest };
